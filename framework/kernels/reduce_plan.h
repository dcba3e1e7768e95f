#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "cohort/core/shape.h"

namespace cohort::kernels {

// Which axes of a shape are reduced, as a mask.
using AxisMask = std::array<bool, Shape::kMaxRank>;
AxisMask reduced_axes(const Shape& shape, const std::vector<std::int64_t>& axes);
// The axes over which x is summed to the shape of `like`.
AxisMask broadcast_axes(const Shape& x, const Shape& like);

// A set of axes walked in order.
struct AxisWalk {
  int rank = 0;
  std::array<std::int64_t, Shape::kMaxRank> sizes{}, strides{};

  std::int64_t count() const {
    std::int64_t count = 1;
    for (int i = 0; i < rank; ++i) count *= sizes[i];
    return count;
  }
  // Where the element with this index lies.
  std::int64_t offset(std::int64_t index) const {
    std::int64_t offset = 0;
    for (int i = rank - 1; i > 0; --i) {
      offset += index % sizes[i] * strides[i];
      index /= sizes[i];
    }
    if (rank > 0) offset += index * strides[0];
    return offset;
  }
  void push_front(std::int64_t size, std::int64_t stride);
};

// A reduction as rows of a matrix: `rows` rows of `columns` elements, `row_stride` apart, start at each place that
// `kept` and `reduced` lead to. If `over_columns` a row becomes one number and rows count as reduced too; else the rows
// are combined column by column.
struct ReducePlan {
  ReducePlan(const Shape& input, const AxisMask& mask);

  bool over_columns = false;
  std::int64_t rows = 1, row_stride = 0, columns = 1;
  AxisWalk kept, reduced;
  // Elements that meet in one element of the output.
  std::int64_t reduced_count = 1;
};

}  // namespace cohort::kernels
