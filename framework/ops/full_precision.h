#pragma once

#include "cohort/ops/cast.h"

namespace cohort::ops {

// The type that to_floating gives elements of this type.
inline DType floating_type(DType dtype) { return is_floating(dtype) ? dtype : DType::Float32; }

// x as float32, unless it is float64 already: what statistics and matrices are computed in.
inline Tensor to_full_precision(const Tensor& x) { return x.dtype() == DType::Float64 ? x : cast(x, DType::Float32); }

}  // namespace cohort::ops
