#pragma once

#include <cstdint>

#include "cohort/core/tensor.h"

namespace cohort::metrics {

// For each label (batch, ...) whether it is among the k largest of predictions (batch, ..., classes); what ties with
// the k-th counts as among them.
Tensor in_top_k(const Tensor& labels, const Tensor& predictions, std::int64_t k);

}  // namespace cohort::metrics
