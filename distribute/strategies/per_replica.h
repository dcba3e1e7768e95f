#pragma once

#include <cstdint>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "cohort/data/element.h"
#include "cohort/graph/function.h"

namespace cohort::distribute {

// One replica's value: an element, and a tensor where it is a single one.
class ReplicaValue : public Element {
 public:
  explicit ReplicaValue(Element element) : Element(std::move(element)) {}
  // The tensor; throws for a tuple or dict.
  operator Tensor() const;
};

// A value for each replica of this process, or one that all of them see alike.
class PerReplica {
 public:
  // The same for every replica.
  PerReplica(Tensor value) : PerReplica(Element(std::move(value))) {}
  PerReplica(Element value) : values_{std::move(value)} {}
  // One for each.
  //   rows: how many samples of a global batch each has; empty: nobody knows.
  explicit PerReplica(std::vector<Element> values, std::vector<std::int64_t> rows = {})
      : values_(std::move(values)), rows_(std::move(rows)) {}

  // The same of single tensors, as merge_call gives them.
  static PerReplica of(const Tensors& values) { return PerReplica(std::vector<Element>(values.begin(), values.end())); }

  // What a replica of this process sees, by its number here.
  ReplicaValue value(int replica) const {
    return ReplicaValue(values_[values_.size() == 1 ? 0 : static_cast<std::size_t>(replica)]);
  }
  // The values, one for each replica, or a single one.
  const std::vector<Element>& values() const { return values_; }
  // Samples of each replica; empty where nobody knows.
  const std::vector<std::int64_t>& rows() const { return rows_; }
  // Member number i of each replica's tuple.
  PerReplica operator[](std::size_t i) const;

 private:
  std::vector<Element> values_;
  std::vector<std::int64_t> rows_;
};

namespace detail {

// What a user's code returns, as an element: several tensors are a tuple.
inline Element to_element(Tensor value) { return Element(std::move(value)); }
inline Element to_element(Element value) { return value; }
inline Element to_element(const Tensors& values) {
  if (values.size() == 1) return Element(values[0]);
  return Element::tuple(std::vector<Element>(values.begin(), values.end()));
}
template <class... T>
Element to_element(const std::tuple<T...>& values) {
  return std::apply([](const auto&... each) { return Element::tuple({to_element(each)...}); }, values);
}

template <class F, class... Values>
Element call_on_replica(const F& code, const Values&... values) {
  if constexpr (std::is_same_v<F, Function>) {
    return to_element(static_cast<const Tensors&>(code.call({static_cast<Tensor>(values)...})));
  } else if constexpr (std::is_void_v<std::invoke_result_t<const F&, const Values&...>>) {
    code(values...);
    return {};
  } else {
    return to_element(code(values...));
  }
}

}  // namespace detail
}  // namespace cohort::distribute
