#pragma once

#include <optional>

#include "cohort/core/tensor.h"
#include "cohort/ops/joining.h"

namespace cohort::ops {

// x2 behind x1 along an axis; without one, both flattened.
Tensor append(const Tensor& x1, const Tensor& x2, std::optional<int> axis = std::nullopt);
// Joined along the second axis; vectors along their only one.
Tensor hstack(const Tensors& xs);
// Joined along the first axis; vectors become rows.
Tensor vstack(const Tensors& xs);
// Joined along the third axis, which is put in where it is missing.
Tensor dstack(const Tensors& xs);

// As split, but a number of parts need not divide the axis: the first ones are larger by one. The axis's size must be
// known.
Tensors array_split(const Tensor& x, const IndicesOrSections& indices_or_sections, int axis = 0);
// Along the first axis.
Tensors vsplit(const Tensor& x, const IndicesOrSections& indices_or_sections);
// Along the second axis; a vector along its only one.
Tensors hsplit(const Tensor& x, const IndicesOrSections& indices_or_sections);
// Along the third axis.
Tensors dsplit(const Tensor& x, const IndicesOrSections& indices_or_sections);

}  // namespace cohort::ops
