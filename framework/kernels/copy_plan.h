#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "cohort/core/shape.h"

namespace cohort::kernels {

// One axis of a copy: how many elements, and the steps (in elements) from one to the next on either side. A step of 0
// on the `from` side repeats, a negative one walks backwards.
struct CopyAxis {
  std::int64_t size = 0;
  std::int64_t from = 0;
  std::int64_t to = 0;
};

// A copy between two strided views of memory, outermost axis first. Axes of one element are dropped and neighbours that
// are one run of memory on both sides are merged, so that a copy has few axes; it has at least one.
struct CopyPlan {
  static constexpr int kMaxAxes = 2 * Shape::kMaxRank;

  std::array<CopyAxis, kMaxAxes> axes{};
  int rank = 0;
  std::int64_t from_offset = 0, to_offset = 0;
  // Elements to copy.
  std::int64_t total = 1;

  explicit CopyPlan(std::span<const CopyAxis> all, std::int64_t from_offset = 0, std::int64_t to_offset = 0)
      : from_offset(from_offset), to_offset(to_offset) {
    for (const CopyAxis& axis : all) add(axis);
    if (rank == 0) axes[rank++] = {1, 1, 1};
  }

  const CopyAxis& innermost() const { return axes[static_cast<std::size_t>(rank - 1)]; }

 private:
  void add(const CopyAxis& axis) {
    total *= axis.size;
    if (axis.size == 1) return;
    if (rank > 0) {
      CopyAxis& last = axes[static_cast<std::size_t>(rank - 1)];
      if (last.from == axis.from * axis.size && last.to == axis.to * axis.size) {
        last = {last.size * axis.size, axis.from, axis.to};
        return;
      }
    }
    axes[static_cast<std::size_t>(rank++)] = axis;
  }
};

}  // namespace cohort::kernels
