#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <utility>
#include <vector>

#include "cohort/core/tensor.h"

namespace cohort::ops {

// Where split() cuts: a number stands for that many equal parts, a list (of one index, too) for the indices it cuts at.
struct IndicesOrSections {
  template <std::integral Number>
  IndicesOrSections(Number number) : sections(static_cast<std::int64_t>(number)) {}
  IndicesOrSections(std::initializer_list<std::int64_t> cuts) : indices(cuts) {}
  IndicesOrSections(std::vector<std::int64_t> cuts) : indices(std::move(cuts)) {}
  std::optional<std::int64_t> sections;
  std::vector<std::int64_t> indices;
};

// Tensors of equal rank one after the other along an axis, in the type they have in common.
Tensor concatenate(const Tensors& xs, int axis = 0);
// The reverse: split(x, 3) makes three equal parts, split(x, {2, 3}) the parts x[:2], x[2:3] and x[3:] along the axis.
Tensors split(const Tensor& x, const IndicesOrSections& indices_or_sections, int axis = 0);
// Parts of the given sizes along the axis; one may be -1: what is left.
Tensors split_sizes(const Tensor& x, const std::vector<std::int64_t>& sizes, int axis = 0);
// Parts with the sizes that `likes` have along the axis.
Tensors split_like(const Tensor& x, const Tensors& likes, int axis);
// Tensors of equal shape along a new axis, in the type they have in common.
Tensor stack(const Tensors& tensors, int axis = 0);
// The reverse: x taken apart along an axis, which is dropped; its size `num` must be said where it is not known.
Tensors unstack(const Tensor& x, std::optional<std::int64_t> num = std::nullopt, int axis = 0);
// The whole tensor repeated multiples[i] times along axis i.
Tensor tile(const Tensor& x, const std::vector<std::int64_t>& multiples);
// Each element repeated `repeats` times along an axis; without one, of the flattened tensor.
Tensor repeat(const Tensor& x, int repeats, std::optional<int> axis = std::nullopt);

}  // namespace cohort::ops
