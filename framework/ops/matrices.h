#pragma once

#include <cstdint>
#include <utility>

#include "cohort/core/tensor.h"

namespace cohort::ops {

// What lies on and below the k-th diagonal of the matrices of the last two axes; zeros above it.
Tensor tril(const Tensor& x, std::int64_t k = 0);
// What lies on and above the k-th diagonal; zeros below it.
Tensor triu(const Tensor& x, std::int64_t k = 0);
// The diagonal `offset` to the right of the main one, of the matrices that two axes make, as a new last axis. Their
// sizes must be known.
Tensor diagonal(const Tensor& x, std::int64_t offset = 0, int axis1 = 0, int axis2 = 1);
// The sum of that diagonal.
Tensor trace(const Tensor& x, std::int64_t offset = 0, int axis1 = 0, int axis2 = 1);

// Reversed along the second axis.
Tensor fliplr(const Tensor& x);
// Reversed along the first axis.
Tensor flipud(const Tensor& x);
// Turned k times by 90 degrees from the first towards the second of two axes.
Tensor rot90(const Tensor& array, int k = 1, std::pair<int, int> axes = {0, 1});

}  // namespace cohort::ops
