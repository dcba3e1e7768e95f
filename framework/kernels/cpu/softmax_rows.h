#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "cohort/core/dtype.h"
#include "cohort/kernels/cpu/row_sums.h"
#include "cohort/kernels/cpu/vector_width.h"
#include "cohort/kernels/functors.h"

namespace cohort {

// What a type is computed in: 16-bit floats in float, the others in themselves.
template <class T>
using ComputeType = std::conditional_t<std::is_same_v<T, double>, double, float>;

// The largest element; NaNs are left out (what is computed with them afterwards is NaN all the same).
template <class C>
C row_max(const C* x, std::int64_t count) {
  // Vectors as wide as a register: g++ takes comparisons of wider ones apart.
  typedef C Vector __attribute__((vector_size(kVectorBytes)));
  constexpr std::int64_t kWidth = kVectorBytes / sizeof(C);
  Vector first = Vector{} - std::numeric_limits<C>::infinity(), second = first;
  std::int64_t j = 0;
  for (; j + 2 * kWidth <= count; j += 2 * kWidth) {
    Vector a, b;
    std::memcpy(&a, x + j, sizeof(a));
    std::memcpy(&b, x + j + kWidth, sizeof(b));
    first = a > first ? a : first;
    second = b > second ? b : second;
  }
  first = second > first ? second : first;
  C max = first[0];
  for (int lane = 1; lane < kWidth; ++lane) max = first[lane] > max ? first[lane] : max;
  for (; j < count; ++j) max = x[j] > max ? x[j] : max;
  return max;
}

template <class C>
C row_sum(const C* x, std::int64_t count) {
  return kernels::sum_in_lanes<C>(count, [x](std::int64_t i) { return x[i]; });
}

// y = exp(x - max(x)); returns the maximum and the sum of y.
template <class C>
struct ExpRow {
  C max, sum;
};
template <class C>
ExpRow<C> exp_row(const C* x, C* y, std::int64_t count) {
  C max = row_max(x, count);
  for (std::int64_t j = 0; j < count; ++j) y[j] = fn::exp(x[j] - max);
  return {max, row_sum(y, count)};
}

}  // namespace cohort
