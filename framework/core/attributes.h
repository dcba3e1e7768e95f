#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "cohort/core/tensor.h"

namespace cohort {

class Graph;

// The value of an attribute.
using AttributeValue =
    std::variant<bool, std::int64_t, double, std::string, DType, Shape, std::vector<std::int64_t>, std::vector<double>,
                 std::vector<std::string>, Tensor, std::shared_ptr<const Graph>>;

// The named, compile-time arguments of an op call, such as an axis; a few, kept in the order given.
class Attributes {
 public:
  // A name and its value.
  struct Entry {
    Entry(std::string name, AttributeValue value) : name(std::move(name)), value(std::move(value)) {}
    // Only for int itself: bool, double and 64-bit integers keep their own type.
    template <std::same_as<int> Int>
    Entry(std::string name, Int value) : Entry(std::move(name), AttributeValue(std::int64_t{value})) {}
    Entry(std::string name, const char* value) : Entry(std::move(name), AttributeValue(std::string(value))) {}
    // Name of the attribute.
    std::string name;
    // Its value.
    AttributeValue value;
  };

  // None, or those of a braced list: {{"axis", -1}}.
  Attributes() = default;
  Attributes(std::initializer_list<Entry> entries) : entries_(entries) {}

  // The value of an attribute; nullptr when there is none.
  const AttributeValue* find(std::string_view name) const;
  // Whether there is an attribute of this name.
  bool has(std::string_view name) const { return find(name) != nullptr; }
  // Sets an attribute, or adds it.
  void set(std::string_view name, AttributeValue value);
  template <std::same_as<int> Int>
  void set(std::string_view name, Int value) {
    set(name, AttributeValue(std::int64_t{value}));
  }
  // Removes an attribute.
  void erase(std::string_view name);

  // Value of an attribute as T (int reads the 64-bit integer); throws when missing or of another type.
  template <class T>
  T get(std::string_view name) const {
    if constexpr (std::is_same_v<T, int>) {
      return static_cast<int>(get<std::int64_t>(name));
    } else if constexpr (std::is_same_v<T, float>) {
      return static_cast<float>(get<double>(name));
    } else {
      const AttributeValue* value = find(name);
      if (!value || !std::holds_alternative<T>(*value)) missing(name);
      return std::get<T>(*value);
    }
  }
  // The same, with a value for one that is missing.
  template <class T>
  T get(std::string_view name, T fallback) const {
    return has(name) ? get<T>(name) : fallback;
  }

  // Iterators over the entries.
  auto begin() const { return entries_.begin(); }
  // The end of the entries.
  auto end() const { return entries_.end(); }
  // Number of attributes.
  std::size_t size() const { return entries_.size(); }
  // "axis=-1, keep_dims=true"
  std::string to_string() const;
  // Equal names and values (tensors and graphs by identity), in any order.
  friend bool operator==(const Attributes& a, const Attributes& b);

 private:
  [[noreturn]] static void missing(std::string_view name);
  std::vector<Entry> entries_;
};

// A value as text.
std::string to_string(const AttributeValue& value);
// Whether two values are equal; tensors and graphs by identity.
bool equal(const AttributeValue& a, const AttributeValue& b);

}  // namespace cohort
