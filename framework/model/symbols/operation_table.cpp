#include "cohort/model/symbols/operation_table.h"

namespace cohort::operations {
namespace {

[[noreturn]] void refuse_field(const char* name, const char* expected, const AttributeValue& value) {
  throw invalid_argument("operation", std::string(expected) + " is expected", {{name, to_string(value)}});
}

}  // namespace

std::vector<OperationField> fields_of_any_kind(const std::vector<std::string>& names) {
  std::vector<OperationField> fields;
  for (const std::string& name : names) fields.push_back({name, OperationField::Kind::Any});
  return fields;
}

void add_operation(const char* module, const char* name, std::vector<std::string> arguments,
                   const std::vector<std::string>& fields, Compute compute, bool lists_all_arguments) {
  add_typed_operation(module, name, std::move(arguments), fields_of_any_kind(fields), std::move(compute),
                      lists_all_arguments);
}

void add_of_one(const char* module, const char* name, OfOne function, const char* argument) {
  add_typed_operation(module, name, {argument}, {},
                      [function](const Arguments& a, const Attributes&) { return Element(function(a[0].leaf())); });
}

void add_of_two(const char* module, const char* name, OfTwo function) {
  add_typed_operation(module, name, {"x1", "x2"}, {}, [function](const Arguments& a, const Attributes&) {
    return Element(function(a[0].leaf(), a[1].leaf()));
  });
}

double number_of(const Attributes& config, const char* name, double fallback) {
  const AttributeValue* value = config.find(name);
  if (!value) return fallback;
  if (const auto* number = std::get_if<double>(value)) return *number;
  if (const auto* integer = std::get_if<std::int64_t>(value)) return static_cast<double>(*integer);
  refuse_field(name, "a number", *value);
}

std::optional<double> optional_number(const Attributes& config, const char* name) {
  return config.has(name) ? std::optional(number_of(config, name)) : std::nullopt;
}

std::int64_t integer_of(const Attributes& config, const char* name, std::int64_t fallback) {
  const AttributeValue* value = config.find(name);
  if (!value) return fallback;
  if (const auto* integer = std::get_if<std::int64_t>(value)) return *integer;
  refuse_field(name, "an integer", *value);
}

bool bool_of(const Attributes& config, const char* name, bool fallback) {
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

DType dtype_of(const Attributes& config, DType fallback, const char* name) {
  const std::string text = text_of(config, name);
  return text.empty() ? fallback : dtype_from_string(text);
}

std::optional<int> axis_of(const Attributes& config, const char* name) {
  return config.has(name) ? std::optional(static_cast<int>(integer_of(config, name))) : std::nullopt;
}

ops::IndicesOrSections cuts_of(const Attributes& config) {
  const AttributeValue* value = config.find("indices_or_sections");
  if (const auto* sections = value ? std::get_if<std::int64_t>(value) : nullptr) return *sections;
  return integers_of(config, "indices_or_sections");
}

SymbolicTensor call_one(const std::string& name, const std::vector<OperationArgument>& arguments,
                        const Attributes& config) {
  return call_operation(name, arguments, config).leaf();
}

std::vector<SymbolicTensor> call_several(const std::string& name, const std::vector<OperationArgument>& arguments,
                                         const Attributes& config) {
  return call_operation(name, arguments, config).flatten();
}

OperationArgument argument_of(const SymbolicOperand& operand) {
  const auto* tensor = std::get_if<Tensor>(&operand.value());
  if (tensor && !tensor->defined()) return std::monostate();
  return std::visit([](const auto& value) { return OperationArgument(value); }, operand.value());
}

Attributes with_axes(Attributes config, const Integers& axes, const char* name) {
  if (axes.size() == 1) config.set(name, axes[0]);
  if (axes.size() > 1) config.set(name, axes);
  return config;
}

Attributes with_axis(Attributes config, std::optional<int> axis) {
  if (axis) config.set("axis", std::int64_t{*axis});
  return config;
}

Attributes with_cuts(Attributes config, const ops::IndicesOrSections& cuts) {
  if (cuts.sections) {
    config.set("indices_or_sections", *cuts.sections);
  } else {
    config.set("indices_or_sections", cuts.indices);
  }
  return config;
}

}  // namespace cohort::operations
