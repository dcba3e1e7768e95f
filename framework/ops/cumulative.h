#pragma once

#include <optional>

#include "cohort/core/tensor.h"

namespace cohort::ops {

// What cumsum and cumprod take besides the axis.
struct CumulativeOptions {
  bool exclusive = false;                     // leaves an element's own value out
  bool reverse = false;                       // starts at the end
  std::optional<DType> dtype = std::nullopt;  // of the result; none: x's, int32 for bool
};

// Running sums along an axis; without one, of the flattened tensor.
Tensor cumsum(const Tensor& x, std::optional<int> axis = std::nullopt, const CumulativeOptions& options = {});
// Running products along an axis; without one, of the flattened tensor.
Tensor cumprod(const Tensor& x, std::optional<int> axis = std::nullopt, const CumulativeOptions& options = {});

// Each element along the axis less the one before it, n times over: at most 1000 times, or until the axis is empty.
Tensor diff(const Tensor& a, int n = 1, int axis = -1);

// The linear recurrence s[k] = b[k] + a[k] * s[k-1] along an axis, from s[-1] = 0; a and b of one shape.
Tensor linear_scan(const Tensor& a, const Tensor& b, int axis, bool reverse = false);

}  // namespace cohort::ops
