#pragma once

#include "cohort/core/tensor.h"

namespace cohort::ops {

// Normalization in one op each, gradients too. Statistics are float32 for 16-bit inputs, else of the input's type.

// x less its mean, divided by sqrt(variance + epsilon), times gamma plus beta, over the trailing axes that gamma and
// beta have: (..., features) to the same shape.
Tensor layer_norm(const Tensor& x, const Tensor& gamma, const Tensor& beta, double epsilon = 1e-3);

// What batch_norm gives.
struct BatchNormResult {
  Tensor output;          // like x
  Tensor mean, variance;  // (channels,): what x was normalized with
};
// Like layer_norm, but over all axes except one, the channels: x (..., channels, ...), gamma and beta (channels,).
BatchNormResult batch_norm(const Tensor& x, const Tensor& gamma, const Tensor& beta, int axis = -1,
                           double epsilon = 1e-3);

}  // namespace cohort::ops
