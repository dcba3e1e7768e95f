#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "cohort/config/configurable.h"

namespace cohort::layers {

// Fields of a config for which Keras takes values of two kinds: a reader tries one, then the other.

// A number or a string, or null.
inline void visit_number_or_text(FieldVisitor& visitor, const char* name,
                                 std::optional<std::variant<std::int64_t, std::string>>& value) {
  std::optional<std::int64_t> number;
  std::optional<std::string> text;
  if (value && std::holds_alternative<std::int64_t>(*value)) number = std::get<std::int64_t>(*value);
  if (value && std::holds_alternative<std::string>(*value)) text = std::get<std::string>(*value);
  if (!visitor.reads_config()) return text ? visitor.field(name, text) : visitor.field(name, number);
  value.reset();
  try {
    visitor.field(name, number);
    if (number) value = *number;
  } catch (const Error&) {
    visitor.field(name, text);
    if (text) value = *text;
  }
}

// A list, or a number that stands for something else than the list of it.
struct NumberOrList {
  NumberOrList() = default;
  NumberOrList(int number) : number(number) {}
  NumberOrList(std::initializer_list<std::int64_t> list) : list(list) {}
  std::optional<std::int64_t> number = std::nullopt;
  std::optional<std::vector<std::int64_t>> list = std::nullopt;
};

// A number or a list of numbers, or null.
inline void visit_number_or_list(FieldVisitor& visitor, const char* name, NumberOrList& value) {
  if (!visitor.reads_config()) return value.list ? visitor.field(name, value.list) : visitor.field(name, value.number);
  value.number.reset();
  value.list.reset();
  try {
    visitor.field(name, value.number);
  } catch (const Error&) {
    visitor.field(name, value.list);
  }
}

// A list of strings or null.
inline void visit_texts(FieldVisitor& visitor, const char* name, std::optional<std::vector<std::string>>& value) {
  std::optional<std::string> none;
  if (!visitor.reads_config()) return value ? visitor.field(name, *value) : visitor.field(name, none);
  std::vector<std::string> texts;
  try {
    visitor.field(name, texts);
    value.reset();
    if (!texts.empty()) value = std::move(texts);
  } catch (const Error&) {
    visitor.field(name, none);  // throws unless it is null
    value.reset();
  }
}

}  // namespace cohort::layers
