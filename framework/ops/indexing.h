#pragma once

#include <cstdint>
#include <optional>

#include "cohort/core/tensor.h"

namespace cohort::ops {

// Slices of params along an axis, in the order of the indices: the result has the indices' axes in place of that one.
// An index outside the axis is an error. The gradient for axis 0 is IndexedSlices.
Tensor gather(const Tensor& params, const Tensor& indices, int axis = 0);
// The same with indices that may count from the back; without an axis, from the flattened x.
Tensor take(const Tensor& x, const Tensor& indices, std::optional<int> axis = std::nullopt);
// x[..., indices[..., j, ...], ...]: indices have x's rank and pick along one axis, position by position; negative ones
// count from the back. Without an axis, a list of indices into the flattened x.
Tensor take_along_axis(const Tensor& x, const Tensor& indices, std::optional<int> axis = std::nullopt);
// Elements or slices of params at the positions in the last axis of indices.
Tensor gather_nd(const Tensor& params, const Tensor& indices);

// Zeros like `like`, with values[i] added to slice indices[i] of the axis.
Tensor scatter_add_like(const Tensor& like, const Tensor& indices, const Tensor& values, int axis = 0);
// Zeros of a shape, with updates added at the positions in the last axis of indices.
Tensor scatter_nd(const Tensor& indices, const Tensor& updates, const Shape& shape);
// Keras's name and order for the same: zeros of a shape with values added at indices.
inline Tensor scatter(const Tensor& indices, const Tensor& values, const Shape& shape) {
  return scatter_nd(indices, values, shape);
}
// x with updates written (the last one wins) at the positions in the last axis of indices.
Tensor scatter_update(const Tensor& x, const Tensor& indices, const Tensor& updates);

// 1 at each index along a new axis of size `depth`, 0 elsewhere; an index outside [0, depth) gives zeros.
Tensor one_hot(const Tensor& indices, std::int64_t depth, int axis = -1, DType dtype = DType::Float32);

// 1 for each of `num_classes` classes that occurs among the class numbers of axis 1: (batch, n, ...) to (batch, ...,
// num_classes); a list of numbers gives (num_classes).
Tensor multi_hot(const Tensor& inputs, std::int64_t num_classes, int axis = -1, DType dtype = DType::Float32);

// Positions (count, rank) of the elements that are not zero. The count is known only when the values are.
Tensor where(const Tensor& condition);
// The elements (or slices) of x where the mask, whose shape x's starts with, is true.
Tensor boolean_mask(const Tensor& x, const Tensor& mask);

}  // namespace cohort::ops
