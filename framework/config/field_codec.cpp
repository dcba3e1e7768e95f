#include "cohort/config/field_codec.h"

#include <limits>

#include "cohort/config/configurable.h"
#include "cohort/core/error.h"

namespace cohort {

void GivenField::refuse(const std::string& expected) const {
  throw invalid_argument(who, std::string("'") + name + "' must be " + expected, {{name, value.to_string()}});
}

void GivenField::make(RefField& field) const {
  if (value.is_null()) {
    field.reset();
  } else if (const auto* registered = value.get<std::string>()) {
    field.make(*registered);
  } else if (const auto* object = value.get<std::shared_ptr<const ConfigObject>>()) {
    (*object)->make(field);
  } else {
    refuse("an object, a registered name or null");
  }
}

namespace {

template <class T>
ConfigValue list_of(const std::vector<T>& values) {
  ConfigValue::List list;
  list.reserve(values.size());
  for (const T& each : values) list.push_back(FieldCodec<T>::to(each));
  return list;
}

template <class T>
std::vector<T> values_of(const GivenField& given, const char* expected) {
  const auto* list = given.value.get<ConfigValue::List>();
  if (!list) given.refuse(expected);
  std::vector<T> values;
  values.reserve(list->size());
  for (const ConfigValue& each : *list) values.push_back(FieldCodec<T>::from(given.element(each)));
  return values;
}

template <class T>
const T& held_or_refuse(const GivenField& given, const char* expected) {
  const T* held = given.value.get<T>();
  if (!held) given.refuse(expected);
  return *held;
}

}  // namespace

template <>
ConfigValue FieldCodec<bool>::to(const bool& value) {
  return value;
}
template <>
bool FieldCodec<bool>::from(const GivenField& given) {
  return held_or_refuse<bool>(given, "true or false");
}

template <>
ConfigValue FieldCodec<std::int64_t>::to(const std::int64_t& value) {
  return value;
}
template <>
std::int64_t FieldCodec<std::int64_t>::from(const GivenField& given) {
  return held_or_refuse<std::int64_t>(given, "an integer of 64 bits");
}

template <>
ConfigValue FieldCodec<int>::to(const int& value) {
  return std::int64_t{value};
}
template <>
int FieldCodec<int>::from(const GivenField& given) {
  const std::int64_t wide = FieldCodec<std::int64_t>::from(given);
  if (wide < std::numeric_limits<int>::min() || wide > std::numeric_limits<int>::max()) {
    given.refuse("an integer of 32 bits");
  }
  return static_cast<int>(wide);
}

template <>
ConfigValue FieldCodec<double>::to(const double& value) {
  return value;
}
template <>
double FieldCodec<double>::from(const GivenField& given) {
  const std::optional<double> number = given.value.number();
  if (!number) given.refuse("a number");
  return *number;
}

template <>
ConfigValue FieldCodec<std::string>::to(const std::string& value) {
  return value;
}
template <>
std::string FieldCodec<std::string>::from(const GivenField& given) {
  return held_or_refuse<std::string>(given, "a string");
}

template <>
ConfigValue FieldCodec<DType>::to(const DType& value) {
  return std::string(to_string(value));
}
template <>
DType FieldCodec<DType>::from(const GivenField& given) {
  return dtype_from_string(held_or_refuse<std::string>(given, "the name of an element type or a DTypePolicy"));
}

template <>
ConfigValue FieldCodec<Shape>::to(const Shape& value) {
  ConfigValue::List list;
  for (const std::int64_t size : value) list.push_back(size == kUnknown ? ConfigValue() : ConfigValue(size));
  return list;
}
template <>
Shape FieldCodec<Shape>::from(const GivenField& given) {
  constexpr const char* kExpected = "a list of at most 8 sizes of 0 or more, null where unknown";
  const auto& sizes = held_or_refuse<ConfigValue::List>(given, kExpected);
  if (sizes.size() > static_cast<std::size_t>(Shape::kMaxRank)) given.refuse(kExpected);
  Shape shape;
  for (const ConfigValue& size : sizes) {
    const std::int64_t value = size.is_null() ? kUnknown : FieldCodec<std::int64_t>::from(given.element(size));
    if (!size.is_null() && value < 0) given.refuse(kExpected);
    shape.push_back(value);
  }
  return shape;
}

// Keras writes one axis or one threshold as a plain number.
template <>
ConfigValue FieldCodec<std::vector<std::int64_t>>::to(const std::vector<std::int64_t>& value) {
  return list_of(value);
}
template <>
std::vector<std::int64_t> FieldCodec<std::vector<std::int64_t>>::from(const GivenField& given) {
  if (const auto* one = given.value.get<std::int64_t>()) return {*one};
  return values_of<std::int64_t>(given, "a list of integers");
}

template <>
ConfigValue FieldCodec<std::vector<double>>::to(const std::vector<double>& value) {
  return list_of(value);
}
template <>
std::vector<double> FieldCodec<std::vector<double>>::from(const GivenField& given) {
  if (const std::optional<double> one = given.value.number()) return {*one};
  // A list that Keras keeps as a tensor.
  if (const auto* numbers = given.value.get<NestedNumbers>(); numbers && numbers->shape().rank() <= 1) {
    return numbers->values();
  }
  return values_of<double>(given, "a list of numbers");
}

template <>
ConfigValue FieldCodec<std::vector<std::string>>::to(const std::vector<std::string>& value) {
  return list_of(value);
}
template <>
std::vector<std::string> FieldCodec<std::vector<std::string>>::from(const GivenField& given) {
  if (const auto* dict = given.value.get<ConfigValue::Dict>(); dict && dict->empty()) return {};
  return values_of<std::string>(given, "a list of strings");
}

using IntegerOrText = std::variant<std::int64_t, std::string>;
template <>
ConfigValue FieldCodec<IntegerOrText>::to(const IntegerOrText& value) {
  return std::visit([](const auto& held) { return ConfigValue(held); }, value);
}
template <>
IntegerOrText FieldCodec<IntegerOrText>::from(const GivenField& given) {
  if (const auto* integer = given.value.get<std::int64_t>()) return *integer;
  return held_or_refuse<std::string>(given, "an integer of 64 bits or a string");
}

template <>
ConfigValue FieldCodec<NestedLists>::to(const NestedLists& value) {
  return list_of(value);
}
template <>
NestedLists FieldCodec<NestedLists>::from(const GivenField& given) {
  if (const auto* one = given.value.get<std::int64_t>()) return {{*one}};
  return values_of<std::vector<std::int64_t>>(given, "a list of lists of integers");
}

template <>
ConfigValue FieldCodec<NestedNumbers>::to(const NestedNumbers& value) {
  if (value.is_scalar() && value.numpy_dtype().empty()) return value.values()[0];
  return value;
}
template <>
NestedNumbers FieldCodec<NestedNumbers>::from(const GivenField& given) {
  return nested_numbers(given.value, given.who);
}

template <>
ConfigValue FieldCodec<NumberDict>::to(const NumberDict& value) {
  ConfigValue::Dict dict;
  for (const auto& [name, number] : value) dict.emplace_back(name, number);
  return dict;
}
template <>
NumberDict FieldCodec<NumberDict>::from(const GivenField& given) {
  NumberDict numbers;
  for (const auto& [name, value] : held_or_refuse<ConfigValue::Dict>(given, "a dict of numbers")) {
    if (!value.is_null()) numbers[name] = FieldCodec<double>::from(given.element(value));
  }
  return numbers;
}

const ConfigValue::List& detail::listed_objects(const GivenField& given) {
  return held_or_refuse<ConfigValue::List>(given, "a list of objects");
}

}  // namespace cohort
