#include "cohort/model/symbols/operation_table.h"

namespace cohort::operations {
namespace {

[[noreturn]] void refuse_field(const char* name, const char* expected, const AttributeValue& value) {
  throw invalid_argument("operation", std::string(expected) + " is expected", {{name, to_string(value)}});
}

}  // namespace

double number_of(const Attributes& config, const char* name, double fallback) {
  const AttributeValue* value = config.find(name);
  if (!value) return fallback;
  if (const auto* number = std::get_if<double>(value)) return *number;
  if (const auto* integer = std::get_if<std::int64_t>(value)) return static_cast<double>(*integer);
  refuse_field(name, "a number", *value);
}

std::int64_t integer_of(const Attributes& config, const char* name, std::int64_t fallback) {
  const AttributeValue* value = config.find(name);
  if (!value) return fallback;
  if (const auto* integer = std::get_if<std::int64_t>(value)) return *integer;
  refuse_field(name, "an integer", *value);
}

bool truth_of(const Attributes& config, const char* name, bool fallback) {
  const AttributeValue* value = config.find(name);
  if (!value) return fallback;
  if (const auto* truth = std::get_if<bool>(value)) return *truth;
  refuse_field(name, "true or false", *value);
}

std::string text_of(const Attributes& config, const char* name, const std::string& fallback) {
  const AttributeValue* value = config.find(name);
  if (!value) return fallback;
  if (const auto* text = std::get_if<std::string>(value)) return *text;
  refuse_field(name, "a string", *value);
}

Integers integers_of(const Attributes& config, const char* name, const Integers& fallback) {
  const AttributeValue* value = config.find(name);
  if (!value) return fallback;
  if (const auto* integer = std::get_if<std::int64_t>(value)) return {*integer};
  if (const auto* integers = std::get_if<Integers>(value)) return *integers;
  refuse_field(name, "an integer or a list of them", *value);
}

}  // namespace cohort::operations
