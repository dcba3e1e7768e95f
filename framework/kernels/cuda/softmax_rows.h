#pragma once

#include "cohort/kernels/cuda/rows.h"

namespace cohort::kernels::cuda {

// fn::exp of what is not positive, with the same bits in fewer instructions: a softmax of 16-bit numbers would else be
// bound by them and not by memory.
__device__ inline float exp_of_negative(float x) {
  const fn::ExpParts parts = fn::exp_parts(x < -104.0f ? -104.0f : x);
  // The first factor is in the normal range for all exponents down to the least, -151.
  constexpr int kLift = 32;
  return (1.0f + parts.fraction) * fn::power_of_two(parts.exponent + kLift) * 0x1p-32f;
}
__device__ inline double exp_of_negative(double x) { return fn::exp(x); }

template <class C>
__device__ inline C lowest() {
  return static_cast<C>(-fn::infinity());
}

// The largest element, without NaNs, of a row that is read with `lowest` as its fill.
template <class C, class Form>
__device__ C row_max(Row<C, Form>& row) {
  C max = lowest<C>();
  row.for_each([&](std::int64_t, auto& chunk) {
#pragma unroll
    for (auto& pack : chunk) {
#pragma unroll
      for (C x : pack) max = x > max ? x : max;
    }
  });
  return row.merge(max, [](C a, C b) { return b > a ? b : a; });
}

// The sum of exp(x - max); if the row is kept, these take the elements' places when `keep` says so.
template <class C, class Form>
__device__ C exp_sum(Row<C, Form>& row, C max, bool keep) {
  C sum = 0;
  row.for_each([&](std::int64_t, auto& chunk) {
#pragma unroll
    for (auto& pack : chunk) {
#pragma unroll
      for (C& x : pack) {
        const C e = exp_of_negative(x - max);
        sum += e;
        if (Form::kKept && keep) x = e;
      }
    }
  });
  return row.sum(sum);
}

// exp(x - max) of an element as it is after exp_sum(row, max, true).
template <class Form, class C>
__device__ C exp_again(C x, C max) {
  return Form::kKept ? x : exp_of_negative(x - max);
}

}  // namespace cohort::kernels::cuda
