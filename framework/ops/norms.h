#pragma once

#include "cohort/core/tensor.h"
#include "cohort/ops/epsilon.h"
#include "cohort/ops/reduce.h"

namespace cohort::ops {

// x divided by its norm along the axes, which counts for at least epsilon.
Tensor normalize(const Tensor& x, const Axes& axis = -1, int order = 2, double epsilon = kEpsilon);

// x less its mean over the axes, divided by sqrt(variance + epsilon), times gamma plus beta, each of the axes' sizes
// and left out where undefined. `rms_scaling` takes neither the mean away nor beta in. layer_norm is the same as one
// op.
Tensor layer_normalization(const Tensor& x, const Tensor& gamma = {}, const Tensor& beta = {}, const Axes& axis = -1,
                           double epsilon = kEpsilon, bool rms_scaling = false);
// x divided by the root of the mean of its squares over the axes, times `scale`.
Tensor rms_normalization(const Tensor& x, const Tensor& scale = {}, const Axes& axis = -1, double epsilon = kEpsilon);
// x less the given mean, divided by sqrt(variance + epsilon), times scale plus offset: all (channels,), the channels at
// `axis` of x.
Tensor batch_normalization(const Tensor& x, const Tensor& mean, const Tensor& variance, const Axes& axis,
                           const Tensor& offset = {}, const Tensor& scale = {}, double epsilon = 1e-3);

}  // namespace cohort::ops
