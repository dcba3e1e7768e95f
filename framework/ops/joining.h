#pragma once

#include <cstdint>
#include <vector>

#include "cohort/core/tensor.h"

namespace cohort::ops {

// Tensors of equal rank one after the other along an axis.
Tensor concatenate(const Tensors& tensors, int axis = -1);
// x cut along an axis into `num` equal parts, or into parts of the given sizes (one may be -1: what is left).
Tensors split(const Tensor& x, int num, int axis = 0);
Tensors split(const Tensor& x, const std::vector<std::int64_t>& sizes, int axis = 0);
// Parts with the sizes that `likes` have along the axis.
Tensors split_like(const Tensor& x, const Tensors& likes, int axis);
// Tensors of equal shape along a new axis.
Tensor stack(const Tensors& tensors, int axis = 0);
// The reverse: x taken apart along an axis, which is dropped.
Tensors unstack(const Tensor& x, int axis = 0);
// The whole tensor repeated multiples[i] times along axis i.
Tensor tile(const Tensor& x, const std::vector<std::int64_t>& multiples);
// Each element repeated `repeats` times along an axis.
Tensor repeat(const Tensor& x, int repeats, int axis);

}  // namespace cohort::ops
