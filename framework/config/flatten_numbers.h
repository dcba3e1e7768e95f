#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cohort/config/nested_numbers.h"
#include "cohort/core/error.h"

namespace cohort {

// Throws for a value that is not as nested lists of numbers must be.
[[noreturn]] inline void refuse_as_numbers(std::string_view who, const std::string& value) {
  throw invalid_argument(who, "a tensor is written as lists of numbers of equal lengths", {{"value", value}});
}

// Flattens nested lists of numbers of equal lengths, however they are held. Access::list(value) points to a value's
// list, or is nullptr; Access::number(value) is an optional; Access::refuse(value) throws for what fits neither.
template <class Access>
class NumberFlattener {
 public:
  explicit NumberFlattener(Access access) : access_(std::move(access)) {}

  template <class Value>
  NestedNumbers flatten(const Value& value) {
    const auto* outermost = access_.list(value);
    for (const auto* list = outermost; list && shape_.rank() < Shape::kMaxRank;) {
      shape_.push_back(static_cast<std::int64_t>(list->size()));
      list = list->empty() ? nullptr : access_.list(list->front());
    }
    if (outermost) values_.reserve(outermost->size());
    append(value, 0);
    return NestedNumbers(shape_, std::move(values_));
  }

 private:
  template <class Value>
  void append(const Value& value, int axis) {
    if (axis == shape_.rank()) {
      const auto number = access_.number(value);
      if (!number) access_.refuse(value);
      values_.push_back(*number);
      return;
    }
    const auto* list = access_.list(value);
    if (!list || static_cast<std::int64_t>(list->size()) != shape_[axis]) access_.refuse(value);
    for (const auto& each : *list) append(each, axis + 1);
  }

  Access access_;
  Shape shape_;
  std::vector<double> values_;
};

}  // namespace cohort
