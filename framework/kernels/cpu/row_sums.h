#pragma once

#include <cstdint>

namespace cohort::kernels {

// Running sums side by side: elements join them in a fixed order that vector registers can follow without
// reassociation. add(i, value) takes the elements in order of i.
template <class C>
class LaneSums {
 public:
  static constexpr std::int64_t kLanes = 16;

  C* lanes() { return lanes_; }
  C total() const {
    C sums[kLanes];
    for (std::int64_t i = 0; i < kLanes; ++i) sums[i] = lanes_[i];
    for (std::int64_t half = kLanes / 2; half > 0; half /= 2) {
      for (std::int64_t i = 0; i < half; ++i) sums[i] += sums[i + half];
    }
    return sums[0];
  }

 private:
  C lanes_[kLanes] = {};
};

// Calls body(i, lane) for i in [0, count), whole groups of lanes first so that the inner loop has a constant length.
template <class Body>
inline void for_lanes(std::int64_t count, const Body& body) {
  constexpr std::int64_t kLanes = LaneSums<float>::kLanes;
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (std::int64_t lane = 0; lane < kLanes; ++lane) body(i + lane, lane);
  }
  for (std::int64_t lane = 0; i < count; ++i, ++lane) body(i, lane);
}

// The sum of value(i) for i in [0, count).
template <class C, class Value>
inline C sum_in_lanes(std::int64_t count, const Value& value) {
  LaneSums<C> sums;
  C* lanes = sums.lanes();
  for_lanes(count, [&](std::int64_t i, std::int64_t lane) { lanes[lane] += value(i); });
  return sums.total();
}

}  // namespace cohort::kernels
