#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "cohort/ops/conv_window.h"

namespace cohort {

// The windows of a pooling along one axis: output o covers the inputs [begin[o], end[o]), padding left out.
struct PoolWindows {
  std::int64_t inputs = 1;
  std::vector<std::int64_t> begin = {0}, end = {1};

  std::int64_t outputs() const { return static_cast<std::int64_t>(begin.size()); }
  // No input belongs to two windows.
  bool disjoint() const {
    for (std::size_t o = 1; o < begin.size(); ++o) {
      if (begin[o] < end[o - 1]) return false;
    }
    return true;
  }
};

// Windows of `size` inputs, `stride` apart; "same" padding lets them reach over the ends.
inline PoolWindows pool_windows(std::int64_t inputs, std::int64_t size, std::int64_t stride, bool same) {
  const ConvWindow window = conv_window(inputs, size, stride, 1, same);
  PoolWindows windows{inputs, {}, {}};
  for (std::int64_t o = 0; o < window.outputs; ++o) {
    const std::int64_t first = o * stride - window.before;
    windows.begin.push_back(std::max<std::int64_t>(0, first));
    windows.end.push_back(std::min(inputs, first + size));
  }
  return windows;
}

// As many windows as outputs are wanted, spread evenly over the inputs; neighbours may share one.
inline PoolWindows adaptive_pool_windows(std::int64_t inputs, std::int64_t outputs) {
  PoolWindows windows{inputs, {}, {}};
  for (std::int64_t o = 0; o < outputs; ++o) {
    windows.begin.push_back(o * inputs / outputs);
    windows.end.push_back(((o + 1) * inputs + outputs - 1) / outputs);
  }
  return windows;
}

}  // namespace cohort
