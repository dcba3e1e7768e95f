#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "cohort/kernels/cuda/groups.h"
#include "cohort/kernels/reduce_plan.h"

namespace cohort::kernels::cuda {

// Threads of a block that reduces.
inline constexpr int kReduceThreads = 256;
// Blocks that fill any GPU; a number of its own, since results must not depend on the machine.
inline constexpr std::int64_t kReduceBlocks = 512;
// Where threads ask for more memory at a time: as many as a large GPU runs at the same time.
inline constexpr std::int64_t kFewReduceBlocks = 3 * 132;

// An AxisWalk as the GPU reads it.
struct DeviceWalk {
  int rank = 0;
  std::int64_t sizes[Shape::kMaxRank] = {}, strides[Shape::kMaxRank] = {};

  explicit DeviceWalk(const AxisWalk& walk) : rank(walk.rank) {
    for (int i = 0; i < rank; ++i) {
      sizes[i] = walk.sizes[static_cast<std::size_t>(i)];
      strides[i] = walk.strides[static_cast<std::size_t>(i)];
    }
  }
  __device__ std::int64_t offset(std::int64_t index) const {
    std::int64_t offset = 0;
    for (int i = rank - 1; i > 0; --i) {
      offset += index % sizes[i] * strides[i];
      index /= sizes[i];
    }
    return rank > 0 ? offset + index * strides[0] : 0;
  }
};

// Where the rows of a reduction lie: `rows` of them, `row_stride` apart, at each of `places` for each that is kept.
struct RowPlaces {
  std::int64_t places, rows, row_stride, columns;
  DeviceWalk kept, reduced;

  explicit RowPlaces(const ReducePlan& plan)
      : places(plan.reduced.count()),
        rows(plan.rows),
        row_stride(plan.row_stride),
        columns(plan.columns),
        kept(plan.kept),
        reduced(plan.reduced) {}
  // Whether each row begins at a multiple of `width` elements, and has such a number of them.
  bool can_pack(int width) const {
    bool packed = columns % width == 0 && row_stride % width == 0;
    for (int i = 0; i < kept.rank; ++i) packed = packed && kept.strides[i] % width == 0;
    for (int i = 0; i < reduced.rank; ++i) packed = packed && reduced.strides[i] % width == 0;
    return packed;
  }
};

// Rows that become one number: `group` threads, up to a warp, take one output, or a block takes one of its `parts`,
// which has `part_steps` of the `steps` packs of elements of each place.
struct RowReduction : RowPlaces {
  RowReduction(const ReducePlan& plan, int width)
      : RowPlaces(plan), outputs(plan.kept.count()), packs((columns + width - 1) / width), steps(rows * packs) {
    constexpr std::int64_t kStepsOfWarp = 256, kManyOutputs = 8192, kLongest = 4096;
    if (steps <= kStepsOfWarp || (outputs >= kManyOutputs && steps <= kLongest)) {
      group = static_cast<int>(std::bit_ceil(static_cast<std::uint64_t>(std::clamp<std::int64_t>(steps, 1, kWarp))));
    } else {
      group = kReduceThreads;
    }
    constexpr std::int64_t kWorthParts = 8192, kLeastPart = 2048;
    if (group == kReduceThreads && steps >= kWorthParts && outputs < kReduceBlocks / 2) {
      parts = std::min(kReduceBlocks / outputs, steps / kLeastPart);
    }
    part_steps = (steps + parts - 1) / parts;
  }
  unsigned int blocks() const {
    const std::int64_t outputs_of_block = kReduceThreads / group;
    return static_cast<unsigned int>((outputs * parts + outputs_of_block - 1) / outputs_of_block);
  }

  std::int64_t outputs, packs, steps, parts = 1, part_steps;
  int group;
};

// Rows that are combined column by column. A block is `lanes` packs of columns wide, `rows_at_once` rows high and
// `deep` kept indices deep; the rows of each place are cut into `parts` of `part_rows`.
struct ColumnReduction : RowPlaces {
  ColumnReduction(const ReducePlan& plan, int width, std::int64_t most_blocks = kReduceBlocks)
      : RowPlaces(plan), depth(plan.kept.count()), outputs(depth * columns), packs((columns + width - 1) / width) {
    const auto power = [](std::int64_t n, std::int64_t most) {
      return static_cast<int>(std::bit_ceil(static_cast<std::uint64_t>(std::clamp<std::int64_t>(n, 1, most))));
    };
    // At least a few rows high, if there are any.
    lanes = power(packs, kReduceThreads / power(rows, kReduceThreads / kWarp));
    rows_at_once = power(rows, kReduceThreads / lanes);
    deep = power(depth, kReduceThreads / lanes / rows_at_once);
    tiles = (packs + lanes - 1) / lanes;
    const std::int64_t blocks = std::max<std::int64_t>(1, tiles * ((depth + deep - 1) / deep));
    constexpr std::int64_t kWorthParts = 32, kLeastPart = 16;
    if (blocks < most_blocks / 2 && rows >= kWorthParts * rows_at_once) {
      parts = std::min(most_blocks / blocks, rows / (kLeastPart * rows_at_once));
    }
    part_rows = (rows + parts - 1) / parts;
  }
  int threads() const { return lanes * rows_at_once * deep; }
  unsigned int blocks() const { return static_cast<unsigned int>(tiles * ((depth + deep - 1) / deep)); }

  std::int64_t depth, outputs, packs, tiles, parts = 1, part_rows;
  int lanes, rows_at_once, deep;
};

}  // namespace cohort::kernels::cuda
