#pragma once

#include <cstdint>
#include <vector>

#include "cohort/core/tensor.h"

namespace cohort::ops {

// The same values under another shape. -1 (once) is inferred; -2 keeps the input's axis at that position.
Tensor reshape(const Tensor& x, const std::vector<std::int64_t>& shape);
// All elements in a row.
Tensor ravel(const Tensor& x);
// The same values under the shape of `like`.
Tensor reshape_like(const Tensor& x, const Tensor& like);
// A new axis of size 1, or several of them; positions count in the result.
Tensor expand_dims(const Tensor& x, int axis);
Tensor expand_dims(const Tensor& x, const std::vector<std::int64_t>& axes);
// Drops axes of size 1: those given, else all of them.
Tensor squeeze(const Tensor& x, const std::vector<std::int64_t>& axes = {});
// Axes [first, first + count) become one.
Tensor merge_axes(const Tensor& x, int first, int count);
// The inverse: axis `axis` becomes the axes [first, first + count) of `like`.
Tensor unmerge_axis(const Tensor& x, const Tensor& like, int axis, int first, int count);
// A tensor of the same values, which are not copied: no op writes into a tensor.
Tensor copy(const Tensor& x);
// The same values, through which no gradient flows.
Tensor stop_gradient(const Tensor& x);

// Axis i of the result is axis axes[i] of x; reversed when `axes` is empty.
Tensor transpose(const Tensor& x, const std::vector<std::int64_t>& axes = {});
// x with two axes exchanged.
Tensor swapaxes(const Tensor& x, int axis1, int axis2);
// x with axis `source`, or each of several, moved to `destination`; the others keep their order.
Tensor moveaxis(const Tensor& x, int source, int destination);
Tensor moveaxis(const Tensor& x, const std::vector<std::int64_t>& source, const std::vector<std::int64_t>& destination);

// The sizes of the axes, an int64 vector; known when the graph runs even if not when it is traced.
Tensor shape_of(const Tensor& x);

}  // namespace cohort::ops
