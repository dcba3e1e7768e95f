#include "cohort/kernels/cpu/packed_gemm.h"

#if defined(__aarch64__)

#include <arm_neon.h>

#include <algorithm>
#include <cstring>

#include "cohort/core/scratch.h"

namespace cohort {
namespace {

// 8 x 12 sums fill 24 of the 32 vector registers.
constexpr std::int64_t kRows = 8, kCols = 12;
constexpr std::int64_t kDepth = 512;   // one panel of either operand: 16 and 24 KiB, together in L1
constexpr std::int64_t kHeight = 192;  // the packed part of a: 384 KiB, in L2

struct Panels {
  alignas(64) float a[kHeight * kDepth];
  alignas(64) float b[kCols * kDepth];
};
Scratch panels;

// `kWidth` lines of an operand, interleaved: to[p * kWidth + i] = line i at depth p. Missing lines are zeros.
// Lines lie side by side (`step` is the distance along the depth) ...
template <std::int64_t kWidth>
void pack_across(const float* from, std::int64_t step, std::int64_t lines, std::int64_t depth, float* to) {
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
void pack_along(const float* from, std::int64_t step, std::int64_t lines, std::int64_t depth, float* to) {
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
#define COHORT_LOAD_ROW(i, vector, lane)                                     \
  float32x4_t sum##i##0 = add ? vld1q_f32(c + i * ldc) : vdupq_n_f32(0);     \
  float32x4_t sum##i##1 = add ? vld1q_f32(c + i * ldc + 4) : vdupq_n_f32(0); \
  float32x4_t sum##i##2 = add ? vld1q_f32(c + i * ldc + 8) : vdupq_n_f32(0);
#define COHORT_MULTIPLY_ROW(i, vector, lane)                \
  sum##i##0 = vfmaq_laneq_f32(sum##i##0, b0, vector, lane); \
  sum##i##1 = vfmaq_laneq_f32(sum##i##1, b1, vector, lane); \
  sum##i##2 = vfmaq_laneq_f32(sum##i##2, b2, vector, lane);
#define COHORT_STORE_ROW(i, vector, lane) \
  vst1q_f32(c + i * ldc, sum##i##0);      \
  vst1q_f32(c + i * ldc + 4, sum##i##1);  \
  vst1q_f32(c + i * ldc + 8, sum##i##2);

// c (8 x 12, rows ldc apart) = or += panel of a * panel of b.
void multiply_panels(const float* a, const float* b, std::int64_t depth, float* c, std::int64_t ldc, bool add) {
  COHORT_EACH_ROW(COHORT_LOAD_ROW)
#pragma GCC unroll 4
  for (std::int64_t p = 0; p < depth; ++p, a += kRows, b += kCols) {
    const float32x4_t b0 = vld1q_f32(b), b1 = vld1q_f32(b + 4), b2 = vld1q_f32(b + 8);
    const float32x4_t upper = vld1q_f32(a), lower = vld1q_f32(a + 4);
    COHORT_EACH_ROW(COHORT_MULTIPLY_ROW)
  }
  COHORT_EACH_ROW(COHORT_STORE_ROW)
}
#undef COHORT_EACH_ROW
#undef COHORT_LOAD_ROW
#undef COHORT_MULTIPLY_ROW
#undef COHORT_STORE_ROW

// The same at an edge, where fewer rows or columns belong to c.
void multiply_edge(const float* a, const float* b, std::int64_t depth, float* c, std::int64_t ldc, bool add,
                   std::int64_t rows, std::int64_t cols) {
  float whole[kRows * kCols] = {};
  for (std::int64_t i = 0; add && i < rows; ++i) std::copy_n(c + i * ldc, cols, whole + i * kCols);
  multiply_panels(a, b, depth, whole, kCols, add);
  for (std::int64_t i = 0; i < rows; ++i) std::copy_n(whole + i * kCols, cols, c + i * ldc);
}

}  // namespace

bool PackedGemm::available() { return true; }

void PackedGemm::run(const GemmShape& shape, std::int64_t rows, std::int64_t cols, const float* a, std::int64_t lda,
                     const float* b, std::int64_t ldb, float* c, std::int64_t ldc) {
  Panels& memory = *panels.get<Panels>(1);
  // Equal parts, so that the last is not a sliver.
  const std::int64_t depth_parts = (shape.k + kDepth - 1) / kDepth;
  const std::int64_t depth_step = (shape.k + depth_parts - 1) / depth_parts;
  for (std::int64_t p = 0; p < shape.k; p += depth_step) {
    const std::int64_t depth = std::min(depth_step, shape.k - p);
    for (std::int64_t i = 0; i < rows; i += kHeight) {
      const std::int64_t height = std::min(kHeight, rows - i);
      for (std::int64_t r = 0; r < height; r += kRows) {
        const std::int64_t lines = std::min(kRows, height - r);
        if (shape.transpose_a) {
          pack_across<kRows>(a + p * lda + i + r, lda, lines, depth, memory.a + r * depth);
        } else {
          pack_along<kRows>(a + (i + r) * lda + p, lda, lines, depth, memory.a + r * depth);
        }
      }
      for (std::int64_t j = 0; j < cols; j += kCols) {
        const std::int64_t width = std::min(kCols, cols - j);
        if (shape.transpose_b) {
          pack_along<kCols>(b + j * ldb + p, ldb, width, depth, memory.b);
        } else {
          pack_across<kCols>(b + p * ldb + j, ldb, width, depth, memory.b);
        }
        for (std::int64_t r = 0; r < height; r += kRows) {
          float* target = c + (i + r) * ldc + j;
          const std::int64_t lines = std::min(kRows, height - r);
          if (lines == kRows && width == kCols) {
            multiply_panels(memory.a + r * depth, memory.b, depth, target, ldc, p > 0);
          } else {
            multiply_edge(memory.a + r * depth, memory.b, depth, target, ldc, p > 0, lines, width);
          }
        }
      }
    }
  }
}

}  // namespace cohort

#else

#include "cohort/core/error.h"

namespace cohort {

bool PackedGemm::available() { return false; }
void PackedGemm::run(const GemmShape&, std::int64_t, std::int64_t, const float*, std::int64_t, const float*,
                     std::int64_t, float*, std::int64_t) {
  throw internal_error("PackedGemm", "this build has no such kernel");
}

}  // namespace cohort

#endif
