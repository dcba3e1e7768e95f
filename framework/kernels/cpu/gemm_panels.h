#pragma once

// The innermost part of float matrix products on 64-bit ARM: panels of both operands and their product.

#if defined(__aarch64__)

#include <arm_neon.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace cohort::panels {

// 8 x 12 sums fill 24 of the 32 vector registers.
inline constexpr std::int64_t kRows = 8, kCols = 12;

// `kWidth` lines of an operand, interleaved: to[p * kWidth + i] = line i at depth p. Missing lines are zeros.
// Lines lie side by side (`step` is the distance along the depth) ...
template <std::int64_t kWidth>
inline void pack_across(const float* from, std::int64_t step, std::int64_t lines, std::int64_t depth, float* to) {
  if (lines == kWidth) {
    for (std::int64_t p = 0; p < depth; ++p, from += step, to += kWidth) std::memcpy(to, from, kWidth * sizeof(float));
    return;
  }
  for (std::int64_t p = 0; p < depth; ++p, from += step, to += kWidth) {
    for (std::int64_t i = 0; i < kWidth; ++i) to[i] = i < lines ? from[i] : 0.0f;
  }
}
// ... or each runs along the depth (`step` is the distance between lines): blocks of 4 x 4 are turned in registers.
template <std::int64_t kWidth>
inline void pack_along(const float* from, std::int64_t step, std::int64_t lines, std::int64_t depth, float* to) {
  std::int64_t p = 0;
  if (lines == kWidth) {
    for (; p + 4 <= depth; p += 4) {
      for (std::int64_t i = 0; i < kWidth; i += 4) {
        const float* at = from + i * step + p;
        const float32x4_t r0 = vld1q_f32(at), r1 = vld1q_f32(at + step);
        const float32x4_t r2 = vld1q_f32(at + 2 * step), r3 = vld1q_f32(at + 3 * step);
        const float64x2_t a = vreinterpretq_f64_f32(vtrn1q_f32(r0, r1)), b = vreinterpretq_f64_f32(vtrn2q_f32(r0, r1));
        const float64x2_t c = vreinterpretq_f64_f32(vtrn1q_f32(r2, r3)), d = vreinterpretq_f64_f32(vtrn2q_f32(r2, r3));
        float* out = to + p * kWidth + i;
        vst1q_f32(out, vreinterpretq_f32_f64(vtrn1q_f64(a, c)));
        vst1q_f32(out + kWidth, vreinterpretq_f32_f64(vtrn1q_f64(b, d)));
        vst1q_f32(out + 2 * kWidth, vreinterpretq_f32_f64(vtrn2q_f64(a, c)));
        vst1q_f32(out + 3 * kWidth, vreinterpretq_f32_f64(vtrn2q_f64(b, d)));
      }
    }
  }
  for (; p < depth; ++p) {
    for (std::int64_t i = 0; i < kWidth; ++i) to[p * kWidth + i] = i < lines ? from[i * step + p] : 0.0f;
  }
}

// The sums are named one by one: g++ keeps an array of them in memory.
#define COHORT_EACH_ROW(X) \
  X(0, upper, 0)           \
  X(1, upper, 1) X(2, upper, 2) X(3, upper, 3) X(4, lower, 0) X(5, lower, 1) X(6, lower, 2) X(7, lower, 3)
#define COHORT_LOAD_ROW(i, vector, lane)                                                     \
  float32x4_t sum##i##0 = add ? vld1q_f32(c + i * ldc) : vdupq_n_f32(0);                     \
  float32x4_t sum##i##1 = add && kVectors > 1 ? vld1q_f32(c + i * ldc + 4) : vdupq_n_f32(0); \
  float32x4_t sum##i##2 = add && kVectors > 2 ? vld1q_f32(c + i * ldc + 8) : vdupq_n_f32(0);
#define COHORT_MULTIPLY_ROW(i, vector, lane)                                            \
  sum##i##0 = vfmaq_laneq_f32(sum##i##0, b0, vector, lane);                             \
  if constexpr (kVectors > 1) sum##i##1 = vfmaq_laneq_f32(sum##i##1, b1, vector, lane); \
  if constexpr (kVectors > 2) sum##i##2 = vfmaq_laneq_f32(sum##i##2, b2, vector, lane);
#define COHORT_STORE_ROW(i, vector, lane)                            \
  vst1q_f32(c + i * ldc, sum##i##0);                                 \
  if constexpr (kVectors > 1) vst1q_f32(c + i * ldc + 4, sum##i##1); \
  if constexpr (kVectors > 2) vst1q_f32(c + i * ldc + 8, sum##i##2);

// c (8 rows ldc apart, 4 * kVectors columns: the first of the panel's 12) = or += panel of a * panel of b.
template <int kVectors = 3>
inline void multiply_panels(const float* a, const float* b, std::int64_t depth, float* c, std::int64_t ldc, bool add) {
  COHORT_EACH_ROW(COHORT_LOAD_ROW)
#pragma GCC unroll 4
  for (std::int64_t p = 0; p < depth; ++p, a += kRows, b += kCols) {
    const float32x4_t b0 = vld1q_f32(b);
    [[maybe_unused]] const float32x4_t b1 = vld1q_f32(b + 4), b2 = vld1q_f32(b + 8);
    const float32x4_t upper = vld1q_f32(a), lower = vld1q_f32(a + 4);
    COHORT_EACH_ROW(COHORT_MULTIPLY_ROW)
  }
  COHORT_EACH_ROW(COHORT_STORE_ROW)
}
#undef COHORT_EACH_ROW
#undef COHORT_LOAD_ROW
#undef COHORT_MULTIPLY_ROW
#undef COHORT_STORE_ROW

// The same at an edge, where fewer rows or columns belong to c: whole vectors are written in place, others aside.
inline void multiply_edge(const float* a, const float* b, std::int64_t depth, float* c, std::int64_t ldc, bool add,
                          std::int64_t rows, std::int64_t cols) {
  if (rows == kRows && cols == 8) return multiply_panels<2>(a, b, depth, c, ldc, add);
  if (rows == kRows && cols == 4) return multiply_panels<1>(a, b, depth, c, ldc, add);
  float whole[kRows * kCols] = {};
  for (std::int64_t i = 0; add && i < rows; ++i) std::copy_n(c + i * ldc, cols, whole + i * kCols);
  multiply_panels(a, b, depth, whole, kCols, add);
  for (std::int64_t i = 0; i < rows; ++i) std::copy_n(whole + i * kCols, cols, c + i * ldc);
}

}  // namespace cohort::panels

#endif
