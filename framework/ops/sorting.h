#pragma once

#include <cstdint>

#include "cohort/core/tensor.h"

namespace cohort::ops {

// What top_k gives.
struct TopK {
  // The elements, (..., k).
  Tensor values;
  Tensor indices;  // int32
};
// The k largest along the last axis, largest first; of equal ones the earlier comes first.
TopK top_k(const Tensor& x, std::int64_t k, bool sorted = true);

// x sorted along an axis; equal elements keep their order, NaN comes last.
Tensor sort(const Tensor& x, int axis = -1, bool descending = false);
// The positions (int32) that sort() takes its elements from.
Tensor argsort(const Tensor& x, int axis = -1, bool descending = false);

// What unique gives.
struct Unique {
  Tensor values;   // sorted
  Tensor inverse;  // int64, of x's shape: where each element of x is in `values`
  Tensor counts;   // int64: how often each value occurs
};
// The different values of x. How many there are is known only when the values are.
Unique unique(const Tensor& x);

}  // namespace cohort::ops
