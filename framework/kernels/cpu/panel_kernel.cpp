#include "cohort/kernels/cpu/panel_kernel.h"

#if defined(__aarch64__)

#include <arm_neon.h>

#include <algorithm>
#include <cstring>

namespace cohort {
namespace {

// 4 lines of 4 elements, turned: to[p * kWidth + i] = lines[i][p].
template <std::int64_t kWidth>
void turn(const float* line0, const float* line1, const float* line2, const float* line3, float* to) {
  const float32x4_t r0 = vld1q_f32(line0), r1 = vld1q_f32(line1), r2 = vld1q_f32(line2), r3 = vld1q_f32(line3);
  const float64x2_t a = vreinterpretq_f64_f32(vtrn1q_f32(r0, r1)), b = vreinterpretq_f64_f32(vtrn2q_f32(r0, r1));
  const float64x2_t c = vreinterpretq_f64_f32(vtrn1q_f32(r2, r3)), d = vreinterpretq_f64_f32(vtrn2q_f32(r2, r3));
  vst1q_f32(to, vreinterpretq_f32_f64(vtrn1q_f64(a, c)));
  vst1q_f32(to + kWidth, vreinterpretq_f32_f64(vtrn1q_f64(b, d)));
  vst1q_f32(to + 2 * kWidth, vreinterpretq_f32_f64(vtrn2q_f64(a, c)));
  vst1q_f32(to + 3 * kWidth, vreinterpretq_f32_f64(vtrn2q_f64(b, d)));
}

// Lines that begin one element after the other, as neighbours of an image with one channel do.
bool side_by_side(const float* const* lines) {
  for (std::int64_t i = 1; i < PanelKernel::kLines; ++i) {
    if (lines[i] != lines[i - 1] + 1) return false;
  }
  return true;
}

}  // namespace

bool PanelKernel::available() { return true; }

// The sums are named one by one: g++ keeps an array of them in memory.
#define COHORT_EACH_LINE(X) \
  X(0, first, 0)            \
  X(1, first, 1)            \
  X(2, first, 2)            \
  X(3, first, 3)            \
  X(4, second, 0)           \
  X(5, second, 1) X(6, second, 2) X(7, second, 3) X(8, third, 0) X(9, third, 1) X(10, third, 2) X(11, third, 3)
#define COHORT_CLEAR(i, vector, lane) float32x4_t sum##i##l = vdupq_n_f32(0), sum##i##h = vdupq_n_f32(0);
#define COHORT_LOAD(i, vector, lane)       \
  sum##i##l = vld1q_f32(rows[i] + offset); \
  sum##i##h = vld1q_f32(rows[i] + offset + 4);
#define COHORT_MULTIPLY(i, vector, lane)                     \
  sum##i##l = vfmaq_laneq_f32(sum##i##l, low, vector, lane); \
  sum##i##h = vfmaq_laneq_f32(sum##i##h, high, vector, lane);
#define COHORT_STORE(i, vector, lane)     \
  vst1q_f32(rows[i] + offset, sum##i##l); \
  vst1q_f32(rows[i] + offset + 4, sum##i##h);

void PanelKernel::multiply(const float* lines, const float* columns, std::int64_t depth, float* const* rows,
                           std::int64_t offset, bool add) {
  COHORT_EACH_LINE(COHORT_CLEAR)
  if (add) {
    COHORT_EACH_LINE(COHORT_LOAD)
  }
#pragma GCC unroll 4
  for (std::int64_t p = 0; p < depth; ++p, lines += kLines, columns += kColumns) {
    const float32x4_t low = vld1q_f32(columns), high = vld1q_f32(columns + 4);
    const float32x4_t first = vld1q_f32(lines), second = vld1q_f32(lines + 4), third = vld1q_f32(lines + 8);
    COHORT_EACH_LINE(COHORT_MULTIPLY)
  }
  COHORT_EACH_LINE(COHORT_STORE)
}
#undef COHORT_EACH_LINE
#undef COHORT_CLEAR
#undef COHORT_LOAD
#undef COHORT_MULTIPLY
#undef COHORT_STORE

void PanelKernel::multiply_edge(const float* lines, const float* columns, std::int64_t depth, float* const* rows,
                                std::int64_t offset, bool add, std::int64_t width) {
  float whole[kLines * kColumns] = {};
  float* whole_rows[kLines];
  for (std::int64_t i = 0; i < kLines; ++i) {
    whole_rows[i] = whole + i * kColumns;
    if (add) std::copy_n(rows[i] + offset, width, whole_rows[i]);
  }
  multiply(lines, columns, depth, whole_rows, 0, add);
  for (std::int64_t i = 0; i < kLines; ++i) std::copy_n(whole_rows[i], width, rows[i] + offset);
}

void PanelKernel::pack_lines(const float* const* from, std::int64_t depth, float* to) {
  std::int64_t p = 0;
  if (side_by_side(from)) {
    for (; p < depth; ++p) std::memcpy(to + p * kLines, from[0] + p, kLines * sizeof(float));
    return;
  }
  for (; p + 4 <= depth; p += 4) {
    for (std::int64_t i = 0; i < kLines; i += 4) {
      turn<kLines>(from[i] + p, from[i + 1] + p, from[i + 2] + p, from[i + 3] + p, to + p * kLines + i);
    }
  }
  for (; p < depth; ++p) {
    for (std::int64_t i = 0; i < kLines; ++i) to[p * kLines + i] = from[i][p];
  }
}

void PanelKernel::pack_columns(const float* from, std::int64_t pitch, std::int64_t width, std::int64_t depth,
                               float* to) {
  if (width == kColumns) {
    for (std::int64_t p = 0; p < depth; ++p, from += pitch, to += kColumns) {
      std::memcpy(to, from, kColumns * sizeof(float));
    }
    return;
  }
  for (std::int64_t p = 0; p < depth; ++p, from += pitch, to += kColumns) {
    for (std::int64_t j = 0; j < kColumns; ++j) to[j] = j < width ? from[j] : 0.0f;
  }
}

void PanelKernel::pack_columns_turned(const float* from, std::int64_t pitch, std::int64_t width, std::int64_t depth,
                                      float* to) {
  std::int64_t p = 0;
  for (; width == kColumns && p + 4 <= depth; p += 4) {
    for (std::int64_t j = 0; j < kColumns; j += 4) {
      const float* at = from + j * pitch + p;
      turn<kColumns>(at, at + pitch, at + 2 * pitch, at + 3 * pitch, to + p * kColumns + j);
    }
  }
  for (; p < depth; ++p) {
    for (std::int64_t j = 0; j < kColumns; ++j) to[p * kColumns + j] = j < width ? from[j * pitch + p] : 0.0f;
  }
}

}  // namespace cohort

#else

#include "cohort/core/error.h"

namespace cohort {
namespace {

[[noreturn]] void missing() { throw internal_error("PanelKernel", "this build has no such kernel"); }

}  // namespace

bool PanelKernel::available() { return false; }
void PanelKernel::multiply(const float*, const float*, std::int64_t, float* const*, std::int64_t, bool) { missing(); }
void PanelKernel::multiply_edge(const float*, const float*, std::int64_t, float* const*, std::int64_t, bool,
                                std::int64_t) {
  missing();
}
void PanelKernel::pack_lines(const float* const*, std::int64_t, float*) { missing(); }
void PanelKernel::pack_columns(const float*, std::int64_t, std::int64_t, std::int64_t, float*) { missing(); }
void PanelKernel::pack_columns_turned(const float*, std::int64_t, std::int64_t, std::int64_t, float*) { missing(); }

}  // namespace cohort

#endif
