#pragma once

#include <algorithm>
#include <cstdint>

#include "cohort/core/thread_pool.h"
#include "cohort/kernels/axis_split.h"

namespace cohort::kernels {

// The columns of a shape seen from one axis, taken in groups.
struct AxisColumns : AxisSplit {
  using AxisSplit::AxisSplit;

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
