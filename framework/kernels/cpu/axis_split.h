#pragma once

#include <algorithm>
#include <cstdint>

#include "cohort/core/shape.h"
#include "cohort/core/thread_pool.h"

namespace cohort::kernels {

// A shape seen from one axis: `outer` blocks of `size` rows of `inner` elements.
struct AxisSplit {
  AxisSplit(const Shape& shape, int axis) {
    if (axis < 0) axis += shape.rank();
    for (int i = 0; i < axis; ++i) outer *= shape[i];
    size = shape[axis];
    for (int i = axis + 1; i < shape.rank(); ++i) inner *= shape[i];
  }
  std::int64_t outer = 1, size = 1, inner = 1;

  static constexpr std::int64_t kWidth = 128;

  // Calls run(outer block, first column, number of columns) for groups of at most kWidth columns.
  template <class Run>
  void for_columns(Run&& run) const {
    const std::int64_t width = std::min(inner, kWidth);
    if (width == 0) return;
    const std::int64_t groups = (inner + width - 1) / width;
    const std::int64_t grain = std::max<std::int64_t>(1, 16384 / std::max<std::int64_t>(1, size * width));
    parallel_for(outer * groups, grain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t task = begin; task < end; ++task) {
        const std::int64_t column = task % groups * width;
        run(task / groups, column, std::min(width, inner - column));
      }
    });
  }
};

}  // namespace cohort::kernels
