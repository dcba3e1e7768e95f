#pragma once

#include <cstdint>
#include <vector>

#include "cohort/core/tensor.h"

namespace cohort::ops {

// The same values under another shape. -1 (once) is inferred; -2 keeps the input's axis at that position.
Tensor reshape(const Tensor& x, const std::vector<std::int64_t>& shape);
// The same values under the shape of `like`.
Tensor reshape_like(const Tensor& x, const Tensor& like);
// A new axis of size 1; `axis` counts in the result.
Tensor expand_dims(const Tensor& x, int axis);
// Drops axes of size 1: those given, else all of them.
Tensor squeeze(const Tensor& x, const std::vector<std::int64_t>& axes = {});
// Axes [first, first + count) become one.
Tensor merge_axes(const Tensor& x, int first, int count);
// The inverse: axis `axis` becomes the axes [first, first + count) of `like`.
Tensor unmerge_axis(const Tensor& x, const Tensor& like, int axis, int first, int count);
// x as it is, as an op of its own.
Tensor identity(const Tensor& x);
// The same values, through which no gradient flows.
Tensor stop_gradient(const Tensor& x);

// Axis i of the result is axis axes[i] of x; reversed when `axes` is empty.
Tensor transpose(const Tensor& x, const std::vector<std::int64_t>& axes = {});
// x with two axes exchanged.
Tensor swapaxes(const Tensor& x, int axis1, int axis2);
// x with axis `source` moved to position `destination`; the others keep their order.
Tensor moveaxis(const Tensor& x, int source, int destination);

// The sizes of the axes, an int64 vector; known when the graph runs even if not when it is traced.
Tensor shape_of(const Tensor& x);

}  // namespace cohort::ops
