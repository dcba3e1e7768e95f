#pragma once

#include <cstdint>
#include <vector>

#include "cohort/core/tensor.h"

namespace cohort::ops {

// `factors`, whose elements stand for those of `axes` of x in order, in a shape that broadcasts over x.
Tensor along_axes(const Tensor& factors, const Tensor& x, const std::vector<std::int64_t>& axes);

}  // namespace cohort::ops
