#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "cohort/config/config_value.h"
#include "cohort/config/ref.h"
#include "cohort/core/dtype.h"
#include "cohort/core/shape.h"

namespace cohort {

// A Ref<T> seen through its family's base, for readers that know no concrete type.
class RefField {
 public:
  virtual ~RefField() = default;
  // Makes it None.
  virtual void reset() = 0;
  // An object with default arguments, whose fields are then visited.
  virtual Configurable* make(std::string_view class_name_or_alias) = 0;
  // Takes over an object that exists; false, and nothing changes, for one of another family.
  virtual bool set(const std::shared_ptr<Configurable>& object) = 0;
};

// What a config gives for a field.
struct GivenField {
  const ConfigValue& value;
  // The class and the field, for errors.
  std::string_view who;
  const char* name;

  // One of the values in a list, for the same field.
  GivenField element(const ConfigValue& each) const { return {each, who, name}; }
  // Throws InvalidArgument: "Dense: 'units' must be <expected>. Received: units=<value>."
  [[noreturn]] void refuse(const std::string& expected) const;
  // Makes the object that the value describes or names, or none for null.
  void make(RefField& field) const;
};

// How a field of type T is written to a config and read from it. A type of one's own has a specialisation:
//   template <>
//   struct cohort::FieldCodec<Window> {
//     static ConfigValue to(const Window& value);
//     static Window from(const GivenField& given);  // refuses what it cannot be
//   };
template <class T>
struct FieldCodec {
  // The value that a writer is given.
  static ConfigValue to(const T& value);
  // The field that a reader assigns.
  static T from(const GivenField& given);
};

#define COHORT_FIELD_TYPE(...)                                       \
  template <>                                                        \
  ConfigValue FieldCodec<__VA_ARGS__>::to(const __VA_ARGS__& value); \
  template <>                                                        \
  __VA_ARGS__ FieldCodec<__VA_ARGS__>::from(const GivenField& given);
COHORT_FIELD_TYPE(bool)
COHORT_FIELD_TYPE(int)
COHORT_FIELD_TYPE(std::int64_t)
COHORT_FIELD_TYPE(double)
COHORT_FIELD_TYPE(std::string)
COHORT_FIELD_TYPE(DType)
COHORT_FIELD_TYPE(Shape)                      // a list, null for unknown axes
COHORT_FIELD_TYPE(std::vector<std::int64_t>)  // or one integer
COHORT_FIELD_TYPE(std::vector<double>)        // or one number
COHORT_FIELD_TYPE(std::vector<std::string>)
COHORT_FIELD_TYPE(std::variant<std::int64_t, std::string>)
COHORT_FIELD_TYPE(NestedLists)
COHORT_FIELD_TYPE(NestedNumbers)
COHORT_FIELD_TYPE(NumberDict)
#undef COHORT_FIELD_TYPE

// Null for an empty one.
template <class T>
struct FieldCodec<std::optional<T>> {
  static ConfigValue to(const std::optional<T>& value) { return value ? FieldCodec<T>::to(*value) : ConfigValue(); }
  static std::optional<T> from(const GivenField& given) {
    if (given.value.is_null()) return std::nullopt;
    return FieldCodec<T>::from(given);
  }
};

// A list, or in its place the one value that it holds: how Keras writes what may be one number or several.
template <class T>
ConfigValue one_or_list(const std::vector<T>& values) {
  return values.size() == 1 ? FieldCodec<T>::to(values[0]) : FieldCodec<std::vector<T>>::to(values);
}

namespace detail {

template <class T>
class RefFieldOf : public RefField {
 public:
  explicit RefFieldOf(Ref<T>& ref) : ref_(&ref) {}
  void reset() override { *ref_ = nullptr; }
  Configurable* make(std::string_view name) override {
    *ref_ = Ref<T>(name);
    return ref_->get();
  }
  bool set(const std::shared_ptr<Configurable>& object) override {
    std::shared_ptr<T> body = std::dynamic_pointer_cast<T>(object);
    if (!body) return false;
    *ref_ = Ref<T>(std::move(body));
    return true;
  }

 private:
  Ref<T>* ref_;
};

// The values of a list; refuses anything else.
const ConfigValue::List& listed_objects(const GivenField& given);

}  // namespace detail

// An object, or null for None.
template <class T>
struct FieldCodec<Ref<T>> {
  static ConfigValue to(const Ref<T>& value) {
    return value ? ConfigValue(static_cast<const Configurable*>(value.get())) : ConfigValue();
  }
  static Ref<T> from(const GivenField& given) {
    Ref<T> made;
    detail::RefFieldOf<T> field(made);
    given.make(field);
    return made;
  }
};

template <class T>
struct FieldCodec<std::vector<Ref<T>>> {
  static ConfigValue to(const std::vector<Ref<T>>& values) {
    ConfigValue::List list;
    for (const Ref<T>& each : values) list.push_back(FieldCodec<Ref<T>>::to(each));
    return list;
  }
  static std::vector<Ref<T>> from(const GivenField& given) {
    std::vector<Ref<T>> made;
    for (const ConfigValue& each : detail::listed_objects(given)) {
      made.push_back(FieldCodec<Ref<T>>::from(given.element(each)));
    }
    return made;
  }
};

}  // namespace cohort
