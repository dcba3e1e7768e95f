#pragma once

#include <vector>

#include "tests/support/op_check.h"

namespace cohort::test {

// Element number i of a counted tensor, as its type can hold it.
inline double counted_value(std::int64_t i, DType dtype) { return static_cast<double>(dtype == boolean ? i % 2 : i); }

// 0, 1, 2, ... (0, 1, 0, 1, ... for bool): every element of a moved tensor tells where it came from.
inline std::vector<double> counted_values(const std::vector<std::int64_t>& numbers, DType dtype) {
  std::vector<double> values;
  for (std::int64_t i : numbers) values.push_back(counted_value(i, dtype));
  return values;
}
inline Tensor counted(const Shape& shape, DType dtype) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < shape.num_elements(); ++i) values.push_back(counted_value(i, dtype));
  return tensor_of(values, shape, dtype);
}
// Expects the shape, and elements that were the given numbers of a counted tensor.
inline void expect_counted(const Tensor& got, DType dtype, const Shape& shape,
                           const std::vector<std::int64_t>& numbers) {
  expect_tensor(got, dtype, shape, counted_values(numbers, dtype));
}

}  // namespace cohort::test
