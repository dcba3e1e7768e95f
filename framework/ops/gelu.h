#pragma once

#include "cohort/core/tensor.h"

namespace cohort::ops {

// x times the probability that a normal number is below x. One op, which keeps its slope for the gradient.
Tensor gelu(const Tensor& x);

}  // namespace cohort::ops
