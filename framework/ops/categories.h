#pragma once

#include <cstdint>
#include <vector>

#include "cohort/core/tensor.h"

namespace cohort::ops {

// How many of the boundaries, which ascend, are at most x: the number (int32) of the interval x lies in.
Tensor bucketize(const Tensor& x, const std::vector<double>& boundaries);

// For category numbers (..., n) how often each of `depth` categories occurs among the n, as (..., depth); with `binary`
// 1 for each that occurs. Occurrences count as much as `weights`, of the numbers' shape, say. Numbers from `depth` on
// count for nothing; a negative one is an error.
Tensor count_categories(const Tensor& categories, std::int64_t depth, bool binary = false, DType dtype = DType::Float32,
                        const Tensor& weights = {});

}  // namespace cohort::ops
