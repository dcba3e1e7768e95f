#pragma once

#include <utility>

#include "cohort/core/tensor.h"
#include "cohort/ops/reduce.h"

namespace cohort::metrics {

using Reduction = Tensor (*)(const Tensor& x, const ops::Axes& axes, bool keep_dims);

// Keras's rule for weighted figures: values reduced to one per sample, times the weights, and the weights broadcast and
// reduced alike (undefined without weights).
std::pair<Tensor, Tensor> reduce_to_samplewise_values(const Tensor& values, const Tensor& sample_weight,
                                                      Reduction reduce, DType dtype);

}  // namespace cohort::metrics
