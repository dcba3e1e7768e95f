#include "cohort/config/config_value.h"

#include <array>
#include <charconv>
#include <cstdio>

#include "cohort/config/configurable.h"
#include "cohort/config/excerpt.h"
#include "cohort/config/flatten_numbers.h"

namespace cohort {
namespace {

std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    if (static_cast<unsigned char>(c) < 0x20) {
      std::array<char, 8> code{};
      std::snprintf(code.data(), code.size(), "\\u%04x", static_cast<unsigned>(c));
      result += code.data();
    } else {
      result += c;
    }
  }
  return result + "\"";
}

std::string shortest(double value) {
  std::array<char, 32> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
  std::string text(digits.data(), end);
  if (text.find_first_not_of("-0123456789") == std::string::npos) text += ".0";
  return text;
}

void append(const ConfigValue& value, std::string& text);

struct Appender {
  std::string& text;
  void operator()(std::monostate) const { text += "null"; }
  void operator()(bool value) const { text += value ? "true" : "false"; }
  void operator()(std::int64_t value) const { text += std::to_string(value); }
  void operator()(double value) const { text += shortest(value); }
  void operator()(const std::string& value) const { text += quoted(value.substr(0, kExcerptLength)); }
  void operator()(const ConfigValue::List& list) const {
    text += '[';
    for (std::size_t i = 0; i < list.size() && text.size() <= kExcerptLength; ++i) {
      if (i > 0) text += ',';
      append(list[i], text);
    }
    text += ']';
  }
  void operator()(const ConfigValue::Dict& dict) const {
    text += '{';
    for (std::size_t i = 0; i < dict.size() && text.size() <= kExcerptLength; ++i) {
      text += (i > 0 ? "," : "") + quoted(dict[i].first) + ":";
      append(dict[i].second, text);
    }
    text += '}';
  }
  void operator()(const std::shared_ptr<const NestedNumbers>& numbers) const {
    text += "an array of shape " + numbers->shape().to_string();
  }
  void operator()(const std::shared_ptr<const AttributeValue>& value) const { text += cohort::to_string(*value); }
  void operator()(const Configurable* object) const { text += object ? object->class_name() : "null"; }
  void operator()(const std::shared_ptr<const ConfigObject>& object) const { text += object->to_string(); }
};

void append(const ConfigValue& value, std::string& text) { std::visit(Appender{text}, value.held()); }

struct ConfigNumbers {
  std::string_view who;
  const ConfigValue::List* list(const ConfigValue& value) const { return value.get<ConfigValue::List>(); }
  std::optional<double> number(const ConfigValue& value) const {
    const auto* truth = value.get<bool>();
    return truth ? std::optional(*truth ? 1.0 : 0.0) : value.number();
  }
  [[noreturn]] void refuse(const ConfigValue& value) const { refuse_as_numbers(who, value.to_string()); }
};

}  // namespace

NestedNumbers nested_numbers(const ConfigValue& value, std::string_view who) {
  if (const auto* numbers = value.get<NestedNumbers>()) return *numbers;
  return NumberFlattener(ConfigNumbers{who}).flatten(value);
}

ConfigValue::ConfigValue() = default;
ConfigValue::ConfigValue(bool value) : held_(value) {}
ConfigValue::ConfigValue(std::int64_t value) : held_(value) {}
ConfigValue::ConfigValue(double value) : held_(value) {}
ConfigValue::ConfigValue(std::string value) : held_(std::move(value)) {}
ConfigValue::ConfigValue(List value) : held_(std::move(value)) {}
ConfigValue::ConfigValue(Dict value) : held_(std::move(value)) {}
ConfigValue::ConfigValue(NestedNumbers value) : held_(std::make_shared<const NestedNumbers>(std::move(value))) {}
ConfigValue::ConfigValue(AttributeValue value) : held_(std::make_shared<const AttributeValue>(std::move(value))) {}
ConfigValue::ConfigValue(const Configurable* value) : held_(value) {}
ConfigValue::ConfigValue(std::shared_ptr<const ConfigObject> value) : held_(std::move(value)) {}
ConfigValue::ConfigValue(const ConfigValue&) = default;
ConfigValue::ConfigValue(ConfigValue&&) noexcept = default;
ConfigValue& ConfigValue::operator=(const ConfigValue&) = default;
ConfigValue& ConfigValue::operator=(ConfigValue&&) noexcept = default;
ConfigValue::~ConfigValue() = default;

std::optional<double> ConfigValue::number() const {
  if (const auto* integer = get<std::int64_t>()) return static_cast<double>(*integer);
  if (const auto* number = get<double>()) return *number;
  return std::nullopt;
}

std::string ConfigValue::to_string() const {
  std::string text;
  append(*this, text);
  return cut_to_excerpt(std::move(text));
}

}  // namespace cohort
