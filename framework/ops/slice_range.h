#pragma once

#include <algorithm>
#include <cstdint>

namespace cohort {

// The elements start, start + step, ... (count of them) of an axis.
struct SliceRange {
  std::int64_t start = 0, step = 1, count = 0;
};

// Python's rule for x[begin:end:step] on an axis of `size` elements: negative positions count from the back, open ends
// reach as far as the step can go, everything else is held within the axis.
inline SliceRange slice_range(std::int64_t begin, std::int64_t end, std::int64_t step, bool open_begin, bool open_end,
                              std::int64_t size) {
  const std::int64_t first = step > 0 ? 0 : -1, last = step > 0 ? size : size - 1;
  if (begin < 0) begin += size;
  if (end < 0) end += size;
  begin = open_begin ? (step > 0 ? 0 : size - 1) : std::clamp(begin, first, last);
  end = open_end ? (step > 0 ? size : -1) : std::clamp(end, first, last);
  const std::int64_t distance = step > 0 ? end - begin : begin - end, stride = step > 0 ? step : -step;
  return {begin, step, distance > 0 ? (distance + stride - 1) / stride : 0};
}

}  // namespace cohort
