#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "cohort/ops/array.h"

namespace cohort::layers {

// The axes a layer normalizes over, counted from the front, in order; throws when the input lacks one.
inline std::vector<std::int64_t> normalized_axes(const Layer& layer, std::vector<std::int64_t> axes,
                                                 const Shape& input) {
  for (std::int64_t& axis : axes) {
    if (axis < -input.rank() || axis >= input.rank()) {
      throw invalid_argument(layer.title(), "every axis must be one of the input's",
                             {{"axis", axis}, {"input.shape", input}});
    }
    if (axis < 0) axis += input.rank();
  }
  std::sort(axes.begin(), axes.end());
  return axes;
}

// The input's sizes along these axes.
inline Shape sizes_of(const std::vector<std::int64_t>& axes, const Shape& input) {
  Shape sizes;
  for (std::int64_t axis : axes) sizes.push_back(input[static_cast<int>(axis)]);
  return sizes;
}

// Whether the axes are the last ones of `rank`.
inline bool are_last(const std::vector<std::int64_t>& axes, int rank) {
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (axes[i] != rank - static_cast<int>(axes.size() - i)) return false;
  }
  return true;
}

// A weight with the sizes of some axes, shaped so that it broadcasts over inputs of `rank` axes.
inline Tensor spread_over(const Tensor& weight, const std::vector<std::int64_t>& axes, int rank) {
  if (are_last(axes, rank)) return weight;
  std::vector<std::int64_t> shape(static_cast<std::size_t>(rank), 1);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    shape[static_cast<std::size_t>(axes[i])] = weight.shape()[static_cast<int>(i)];
  }
  return ops::reshape(weight, shape);
}

}  // namespace cohort::layers
