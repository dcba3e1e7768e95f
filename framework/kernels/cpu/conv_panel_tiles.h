#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "cohort/core/thread_pool.h"
#include "cohort/kernels/cpu/conv_plan.h"
#include "cohort/kernels/cpu/panel_kernel.h"

namespace cohort {

inline constexpr std::int64_t kLines = PanelKernel::kLines, kColumns = PanelKernel::kColumns;
// Of a panel. Both together stay in L1: 24 and 16 KiB, of the widest vectors 9 and 24.
inline constexpr std::int64_t kDepth = kVectorBytes == 64 ? 192 : 512;

// Zeros to read from in the padding, as many as are read of one pixel at once.
inline constexpr std::int64_t kZerosCount = 512;
inline constexpr float kZeros[kZerosCount] = {};
static_assert(kDepth <= kZerosCount);

inline std::int64_t panels_of(std::int64_t size, std::int64_t width) { return (size + width - 1) / width; }

// [0, size) in equal parts of at most `limit`, so that the last is not a sliver.
inline std::int64_t equal_step(std::int64_t size, std::int64_t limit) {
  const std::int64_t parts = std::max<std::int64_t>(1, panels_of(size, limit));
  return panels_of(size, parts);
}

// The runs of a patch that lie side by side in the image: a whole row of taps where nothing is skipped or padded, else
// the channels of one tap.
class PatchRuns {
 public:
  explicit PatchRuns(const ConvPlan& plan) : plan_(&plan) {
    const ConvWindow& row = plan.windows[2];
    rows_ = plan.groups == 1 && row.dilation == 1 && row.inside();
    length_ = plan.group_channels() * (rows_ ? row.taps : 1);
  }

  // A place in the patch, and the walk from there from run to run. It divides once: many patches are read alike, so
  // copy the first place.
  class Place {
   public:
    Place(const PatchRuns& runs, std::int64_t at)
        : length_(runs.length_),
          taps1_(runs.plan_->windows[1].taps),
          taps2_(runs.rows_ ? 1 : runs.plan_->windows[2].taps),
          skip_(at % length_) {
      const std::int64_t run = at / length_;
      taps_ = {run / taps2_ / taps1_, run / taps2_ % taps1_, run % taps2_};
    }
    // The taps that the run starts at, one for each axis: what a pixel reads there, see ConvReads.
    const std::array<std::int64_t, 3>& taps() const { return taps_; }
    // How far into the run this is, and how much of it is left.
    std::int64_t skip() const { return skip_; }
    std::int64_t rest() const { return length_ - skip_; }
    // To where the next run begins.
    void next() {
      skip_ = 0;
      if (++taps_[2] < taps2_) return;
      taps_[2] = 0;
      if (++taps_[1] < taps1_) return;
      taps_[1] = 0;
      ++taps_[0];
    }

   private:
    std::int64_t length_, taps1_, taps2_, skip_;
    std::array<std::int64_t, 3> taps_;
  };

  Place at(std::int64_t element) const { return Place(*this, element); }

 private:
  const ConvPlan* plan_;
  bool rows_;
  std::int64_t length_;
};

// One tile, at the right edge a narrower one.
inline void multiply_tile(const float* lines, const float* columns, std::int64_t depth, float* const* rows,
                          std::int64_t offset, bool add, std::int64_t width) {
  if (width == kColumns) {
    PanelKernel::multiply(lines, columns, depth, rows, offset, add);
  } else {
    PanelKernel::multiply_edge(lines, columns, depth, rows, offset, add, width);
  }
}

// The kernel as panels of filters: for each group, and in it for each part of the patch of at most `step` elements, one
// beside the other. It takes patch() of a group times its filters, rounded up to whole panels.
inline void pack_kernel(const ConvPlan& plan, const float* kernel, std::int64_t step, float* packed) {
  constexpr std::int64_t kElements = 1 << 16;  // that are worth one task
  const std::int64_t patch = plan.patch(), width = plan.group_filters(), columns = panels_of(width, kColumns);
  parallel_for(plan.groups * columns, panels_of(kElements, patch), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t group = i / columns, column = i % columns * kColumns;
      for (std::int64_t k = 0; k < patch; k += step) {
        const std::int64_t depth = std::min(step, patch - k);
        PanelKernel::pack_columns(kernel + k * plan.filters + group * width + column, plan.filters,
                                  std::min(kColumns, width - column), depth,
                                  packed + (group * patch + k) * columns * kColumns + column * depth);
      }
    }
  });
}

// Outputs that are worth one task. An output is the same sum in every task, so tasks may be cut for the threads there
// are.
inline std::int64_t outputs_of_task(const ConvPlan& plan) {
  constexpr std::int64_t kProducts = 1 << 20;       // that are worth one task
  constexpr std::int64_t kLeastProducts = 1 << 17;  // where fewer would leave threads without one
  const std::int64_t work = std::max<std::int64_t>(1, plan.patch() * plan.filters);
  const std::int64_t tasks = 4 * ThreadPool::instance().threads();
  return std::max<std::int64_t>(1, std::clamp(plan.pixels() * work / tasks, kLeastProducts, kProducts) / work);
}

}  // namespace cohort
