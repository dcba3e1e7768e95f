#pragma once

#include <vector>

#include "cohort/core/tensor.h"

namespace cohort::ops {

// The sums of the values over all replicas, which must all call it with values of the same types and shapes.
//   collective: the resource by which a replica meets the others.
Tensors all_reduce_sum(const Tensor& collective, const Tensors& values);
// The same in two halves: the sums are made while what follows runs, and are there when they have been waited for. All
// that was started is waited for, in order. For traces: what was started must not be left.
Tensors start_all_reduce_sum(const Tensor& collective, const Tensors& values);
Tensors wait_for_all_reduce(const Tensor& collective, const Tensors& started);
// Of each value those that all replicas of this process have, in order; of the same type and shape. No gradient flows.
//   replicas: how many there are.
std::vector<Tensors> gather_replicas(const Tensor& collective, const Tensors& values, int replicas);
// The first replica's values on every replica.
Tensors broadcast_first(const Tensor& collective, const Tensors& values);

}  // namespace cohort::ops
