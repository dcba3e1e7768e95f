#pragma once

#include <algorithm>
#include <cstdint>

#include "cohort/kernels/cpu/reducers.h"

namespace cohort::kernels {

// Columns that are combined at a time: their lanes stay in registers and the first-level cache.
inline constexpr std::int64_t kColumnBlock = 128;

// Takes as many whole groups of kLanes elements as there are off the front of x.
template <class Reducer, int kLanes, class T>
typename Reducer::Total reduce_lanes(const T*& x, std::int64_t& n, typename Reducer::Total total) {
  constexpr std::int64_t kStepsPerLane = 32;
  typename Reducer::Lane lanes[kLanes];
  while (n >= kLanes) {
    const std::int64_t steps = std::min(n / kLanes, kStepsPerLane);
    for (int j = 0; j < kLanes; ++j) lanes[j] = Reducer::lift(x[j]);
    for (std::int64_t step = 1; step < steps; ++step) {
      for (int j = 0; j < kLanes; ++j) lanes[j] = Reducer::merge(lanes[j], Reducer::lift(x[step * kLanes + j]));
    }
    for (int width = kLanes / 2; width > 0; width /= 2) {
      for (int j = 0; j < width; ++j) lanes[j] = Reducer::merge(lanes[j], lanes[j + width]);
    }
    total = Reducer::merge(total, lanes[0]);
    x += steps * kLanes;
    n -= steps * kLanes;
  }
  return total;
}

template <class Reducer, class T>
typename Reducer::Total reduce_run(const T* x, std::int64_t n, typename Reducer::Total total) {
  if (n >= 32) total = reduce_lanes<Reducer, 32>(x, n, total);
  total = reduce_lanes<Reducer, 4>(x, n, total);
  for (std::int64_t j = 0; j < n; ++j) total = Reducer::merge(total, Reducer::lift(x[j]));
  return total;
}

// Combines rows column by column into totals[0, columns), columns <= kColumnBlock.
template <class Reducer, class T>
void reduce_columns(const T* x, std::int64_t rows, std::int64_t row_stride, std::int64_t columns,
                    typename Reducer::Total* totals) {
  constexpr std::int64_t kRowsPerLane = 64;
  typename Reducer::Lane lanes[kColumnBlock];
  while (rows > 0) {
    const std::int64_t taken = std::min(rows, kRowsPerLane);
    std::int64_t row = 0;
    for (std::int64_t j = 0; j < columns; ++j) lanes[j] = Reducer::kIdentity;
    for (; row + 4 <= taken; row += 4, x += 4 * row_stride) {
      const T *x0 = x, *x1 = x + row_stride, *x2 = x1 + row_stride, *x3 = x2 + row_stride;
      for (std::int64_t j = 0; j < columns; ++j) {
        lanes[j] = Reducer::merge(lanes[j], Reducer::merge(Reducer::merge(Reducer::lift(x0[j]), Reducer::lift(x1[j])),
                                                           Reducer::merge(Reducer::lift(x2[j]), Reducer::lift(x3[j]))));
      }
    }
    for (; row < taken; ++row, x += row_stride) {
      for (std::int64_t j = 0; j < columns; ++j) lanes[j] = Reducer::merge(lanes[j], Reducer::lift(x[j]));
    }
    for (std::int64_t j = 0; j < columns; ++j) totals[j] = Reducer::merge(totals[j], lanes[j]);
    rows -= taken;
  }
}

}  // namespace cohort::kernels
