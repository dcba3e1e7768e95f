#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>

#include "cohort/core/shape.h"

namespace cohort::kernels {

// Elements one thread takes at a time; less work than this stays on the caller.
inline constexpr std::int64_t kElementGrain = 16384;

// How up to three operands are read while an output is written from front to back. Axes of size 1 are dropped and axes
// that all operands walk alike are merged, so that same shapes, scalars, rows and columns end as one or two axes.
struct BroadcastPlan {
  static constexpr int kOperands = 3;
  using Offsets = std::array<std::int64_t, kOperands>;

  int operands = 0;
  int rank = 1;
  std::int64_t total = 1;
  std::array<std::int64_t, Shape::kMaxRank> sizes{};
  std::array<std::array<std::int64_t, Shape::kMaxRank>, kOperands> strides{};

  BroadcastPlan() = default;
  BroadcastPlan(const Shape& output, std::initializer_list<const Shape*> inputs);

  std::int64_t columns() const { return sizes[rank - 1]; }
  // Whether an operand moves along the last axis (else it stays on one element).
  bool moves(int operand) const { return strides[operand][rank - 1] != 0; }
  // Whether an operand has the output's own layout.
  bool dense(int operand) const { return rank == 1 && moves(operand); }

  // Covers output elements [begin, end) by calls of run(position, rows, columns, offsets, steps): `rows` rows of
  // `columns` elements lie back to back in the output, and start `steps` elements apart in each operand.
  template <class Run>
  void walk(std::int64_t begin, std::int64_t end, Run&& run) const {
    const std::int64_t width = columns();
    std::array<std::int64_t, Shape::kMaxRank> at{};
    std::int64_t rest = begin;
    for (int axis = rank - 1; axis >= 0; --axis) {
      at[axis] = rest % sizes[axis];
      rest /= sizes[axis];
    }
    Offsets steps{};
    if (rank > 1) {
      for (int i = 0; i < operands; ++i) steps[i] = strides[i][rank - 2];
    }
    for (std::int64_t position = begin; position < end;) {
      Offsets offsets{};
      for (int i = 0; i < operands; ++i) {
        for (int axis = 0; axis < rank; ++axis) offsets[i] += at[axis] * strides[i][axis];
      }
      std::int64_t rows = 1, taken = std::min(width - at[rank - 1], end - position);
      if (taken == width && rank > 1) {
        rows = std::min((end - position) / width, sizes[rank - 2] - at[rank - 2]);
      }
      run(position, rows, taken, offsets, steps);
      position += rows * taken;
      if (rank == 1) return;
      at[rank - 1] = 0;
      at[rank - 2] += rows;
      for (int axis = rank - 2; axis > 0 && at[axis] == sizes[axis]; --axis) {
        at[axis] = 0;
        ++at[axis - 1];
      }
    }
  }
};

}  // namespace cohort::kernels
