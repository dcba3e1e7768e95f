#pragma once

#include <vector>

#include "cohort/core/tensor.h"

namespace cohort::ops {

// x summed over the axes along which `like` is broadcast to x's shape; x's values, like's shape.
Tensor sum_to_like(const Tensor& x, const Tensor& like);

// x repeated to like's shape, after axes of size 1 are put in at `axes` (positions in like): what a sum over those axes
// without keep_dims took away.
Tensor broadcast_like(const Tensor& x, const Tensor& like, const std::vector<std::int64_t>& axes = {});

// x repeated to `shape`; -1 keeps x's own axis.
Tensor broadcast_to(const Tensor& x, const std::vector<std::int64_t>& shape);

// Number of elements of x along `axes` (all when empty) as a scalar, known when the values are: also in a trace.
Tensor size_of(const Tensor& x, const std::vector<std::int64_t>& axes = {}, DType dtype = DType::Float32);

// A scalar beside x: of x's type, unless x is integer and the value is not, or x is bool; on x's device.
Tensor scalar_like(const Tensor& x, double value);

}  // namespace cohort::ops
