#pragma once

#include "cohort/ops/creation.h"

namespace cohort::ops {

// The gradient of an output, where one flows in.
inline Tensor or_zeros(const Tensor& gradient, const Tensor& like) {
  return gradient.defined() ? gradient : zeros_like(like);
}

}  // namespace cohort::ops
