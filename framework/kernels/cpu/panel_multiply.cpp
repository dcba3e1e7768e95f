// The tile itself, for each kind of processor. The sums are named one by one: g++ keeps an array of them in memory.
#include "cohort/kernels/cpu/panel_kernel.h"

#if defined(__aarch64__)

#include <arm_neon.h>

namespace cohort {

bool PanelKernel::available() { return true; }

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

// 24 of the 32 registers hold sums.
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

}  // namespace cohort

#elif defined(__x86_64__)

#include <immintrin.h>

namespace cohort {

bool PanelKernel::available() {
  static const bool found = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  return found;
}

#define COHORT_EACH_LINE(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11)
#define COHORT_CLEAR(i) __m256 sum##i = _mm256_setzero_ps();
#define COHORT_LOAD(i) sum##i = _mm256_loadu_ps(rows[i] + offset);
#define COHORT_MULTIPLY(i) sum##i = _mm256_fmadd_ps(_mm256_broadcast_ss(lines + i), column, sum##i);
#define COHORT_STORE(i) _mm256_storeu_ps(rows[i] + offset, sum##i);

// 12 of the 16 registers hold sums.
__attribute__((target("avx2,fma"))) void PanelKernel::multiply(const float* lines, const float* columns,
                                                               std::int64_t depth, float* const* rows,
                                                               std::int64_t offset, bool add) {
  COHORT_EACH_LINE(COHORT_CLEAR)
  if (add) {
    COHORT_EACH_LINE(COHORT_LOAD)
  }
#pragma GCC unroll 4
  for (std::int64_t p = 0; p < depth; ++p, lines += kLines, columns += kColumns) {
    const __m256 column = _mm256_loadu_ps(columns);
    COHORT_EACH_LINE(COHORT_MULTIPLY)
  }
  COHORT_EACH_LINE(COHORT_STORE)
}

}  // namespace cohort

#else

#include "cohort/core/error.h"

namespace cohort {

bool PanelKernel::available() { return false; }
void PanelKernel::multiply(const float*, const float*, std::int64_t, float* const*, std::int64_t, bool) {
  throw internal_error("PanelKernel", "this build has no such kernel");
}

}  // namespace cohort

#endif
