#pragma once

#include "cohort/core/tensor.h"

namespace cohort::ops {

// The sums of the values over all replicas, which must all call it with values of the same types and shapes.
//   collective: the resource by which a replica meets the others.
Tensors all_reduce_sum(const Tensor& collective, const Tensors& values);
// The first replica's values on every replica.
Tensors broadcast_first(const Tensor& collective, const Tensors& values);

}  // namespace cohort::ops
