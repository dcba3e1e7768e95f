#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "cohort/config/nested_numbers.h"
#include "cohort/core/attributes.h"

namespace cohort {

class Configurable;
class RefField;

// An object that a config describes and that is not made yet; valid while FieldCodec::from() runs.
class ConfigObject {
 public:
  virtual ~ConfigObject() = default;
  // Makes it in a field of its family.
  virtual void make(RefField& field) const = 0;
  // The description, for errors.
  virtual std::string to_string() const = 0;
};

// The value of one field of a config, on its way to a file or from one.
class ConfigValue {
 public:
  using List = std::vector<ConfigValue>;
  // In the order of the file.
  using Dict = std::vector<std::pair<std::string, ConfigValue>>;
  // std::monostate is null. A writer is given an object itself, a reader gives its description. What is large and rare
  // is held elsewhere: lists have many values.
  using Held = std::variant<std::monostate, bool, std::int64_t, double, std::string, List, Dict,
                            std::shared_ptr<const NestedNumbers>, std::shared_ptr<const AttributeValue>,
                            const Configurable*, std::shared_ptr<const ConfigObject>>;

  // Null.
  ConfigValue();
  ConfigValue(bool value);
  ConfigValue(std::int64_t value);
  ConfigValue(double value);
  ConfigValue(std::string value);
  ConfigValue(List value);
  ConfigValue(Dict value);
  ConfigValue(NestedNumbers value);
  ConfigValue(AttributeValue value);
  ConfigValue(const Configurable* value);
  ConfigValue(std::shared_ptr<const ConfigObject> value);
  ConfigValue(const ConfigValue&);
  ConfigValue(ConfigValue&&) noexcept;
  ConfigValue& operator=(const ConfigValue&);
  ConfigValue& operator=(ConfigValue&&) noexcept;
  ~ConfigValue();

  // What it holds.
  const Held& held() const { return held_; }
  // True for null.
  bool is_null() const { return std::holds_alternative<std::monostate>(held_); }
  // What it holds when that is a T; nullptr when it is something else.
  template <class T>
  const T* get() const {
    if constexpr (std::is_same_v<T, NestedNumbers> || std::is_same_v<T, AttributeValue>) {
      const auto* held = std::get_if<std::shared_ptr<const T>>(&held_);
      return held ? held->get() : nullptr;
    } else {
      return std::get_if<T>(&held_);
    }
  }
  // An integer or a floating number; none for anything else.
  std::optional<double> number() const;
  // As JSON writes it, cut when it is long: for errors.
  std::string to_string() const;

 private:
  Held held_;
};

// The numbers of an array, of lists of equal lengths, or one number; throws InvalidArgument, naming `who`, for anything
// else.
NestedNumbers nested_numbers(const ConfigValue& value, std::string_view who);

// Numbers by their names.
using NumberDict = std::map<std::string, double>;
// Lists of integers, such as the paddings of several axes.
using NestedLists = std::vector<std::vector<std::int64_t>>;

}  // namespace cohort
