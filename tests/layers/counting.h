#pragma once

#include <numeric>
#include <vector>

#include "cohort/core/tensor.h"

namespace cohort::layers {

// 0, 1, 2, ...
inline Tensor counting(const Shape& shape) {
  std::vector<float> values(static_cast<std::size_t>(shape.num_elements()));
  std::iota(values.begin(), values.end(), 0.0f);
  return Tensor::of(values, shape);
}

}  // namespace cohort::layers
