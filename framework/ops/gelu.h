#pragma once

#include "cohort/core/tensor.h"

namespace cohort::ops {

// x times the probability that a normal number is below x; `approximate` takes a curve of tanh for that probability.
Tensor gelu(const Tensor& x, bool approximate = true);

}  // namespace cohort::ops
