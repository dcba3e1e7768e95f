#pragma once

#include "cohort/core/tensor.h"

namespace cohort::ops {

// What cumsum and cumprod take besides the axis.
struct CumulativeOptions {
  bool exclusive = false;  // leaves an element's own value out
  bool reverse = false;    // starts at the end
};

// Running sums along an axis.
Tensor cumsum(const Tensor& x, int axis, const CumulativeOptions& options = {});
// Running products along an axis.
Tensor cumprod(const Tensor& x, int axis, const CumulativeOptions& options = {});

// The linear recurrence s[k] = b[k] + a[k] * s[k-1] along an axis, from s[-1] = 0; a and b of one shape.
Tensor linear_scan(const Tensor& a, const Tensor& b, int axis, bool reverse = false);

}  // namespace cohort::ops
