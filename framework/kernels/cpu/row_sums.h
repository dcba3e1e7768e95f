#pragma once

#include <cstdint>

namespace cohort::kernels {

// The sum of value(i) for i in [0, count), as 16 sums side by side: an order that is fixed and that vector registers
// can follow.
template <class C, class Value>
C sum_in_lanes(std::int64_t count, const Value& value) {
  constexpr std::int64_t kLanes = 16;
  C sums[kLanes] = {};
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (std::int64_t lane = 0; lane < kLanes; ++lane) sums[lane] += value(i + lane);
  }
  for (std::int64_t lane = 0; i < count; ++i, ++lane) sums[lane] += value(i);
  for (std::int64_t half = kLanes / 2; half > 0; half /= 2) {
    for (std::int64_t lane = 0; lane < half; ++lane) sums[lane] += sums[lane + half];
  }
  return sums[0];
}

}  // namespace cohort::kernels
