#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "cohort/kernels/cpu/conv_plan.h"
#include "cohort/kernels/cpu/panel_kernel.h"

namespace cohort {

inline constexpr std::int64_t kLines = PanelKernel::kLines, kColumns = PanelKernel::kColumns;
inline constexpr std::int64_t kDepth = 512;  // of a panel: 24 and 16 KiB, together in L1

// Zeros to read from in the padding, as many as a panel is deep.
inline constexpr float kZeros[kDepth] = {};

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

  std::int64_t length() const { return length_; }
  // The taps a run starts at, one for each axis: what a pixel reads there, see ConvReads.
  std::array<std::int64_t, 3> taps(std::int64_t run) const {
    const std::int64_t taps1 = plan_->windows[1].taps, taps2 = rows_ ? 1 : plan_->windows[2].taps;
    return {run / taps2 / taps1, run / taps2 % taps1, run % taps2};
  }

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

}  // namespace cohort
