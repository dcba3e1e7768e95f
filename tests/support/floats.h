#pragma once

#include <vector>

#include "cohort/core/tensor.h"

namespace cohort {

inline Tensor floats(std::vector<float> values, const Shape& shape) { return Tensor::of(values, shape); }

}  // namespace cohort
