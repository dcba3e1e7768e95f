#pragma once

#include <cstdint>

#include "cohort/core/tensor.h"

namespace cohort::layers {

// Both masks where both are given, either where one is; booleans that broadcast.
Tensor both_masks(const Tensor& a, const Tensor& b);
// The mask with axes of size 1 put in before its last `last` axes, until it has `rank` axes.
Tensor with_rank(const Tensor& mask, int rank, int last);
// Which keys a step sees by position, (1, ..., 1, steps, keys) for scores (..., steps, keys): none behind its own when
// causal, only those nearer than `window` when that is not 0; undefined when it sees all.
Tensor position_mask(const Tensor& scores, bool causal, std::int64_t window);

}  // namespace cohort::layers
