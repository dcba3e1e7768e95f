#include "cohort/kernels/cpu/small_gemm.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace cohort {
namespace {

constexpr std::int64_t kStrip = 8;         // columns of b that are worked on together
constexpr std::int64_t kRows = 4;          // rows of a that are worked on together
constexpr std::int64_t kMaxPacked = 4096;  // elements of b that fit the stack and the L1 cache
constexpr std::int64_t kMaxWork = 96 * 96 * 96;

// One rounding where the machine does that at full speed, two where it would call a function.
inline float multiply_add(float a, float b, float c) {
#ifdef __FP_FAST_FMAF
  return __builtin_fmaf(a, b, c);
#else
  return a * b + c;
#endif
}
inline double multiply_add(double a, double b, double c) {
#ifdef __FP_FAST_FMA
  return __builtin_fma(a, b, c);
#else
  return a * b + c;
#endif
}

// `kCount` rows of a times one strip of b. Elements of a lie `step` apart along k, `row_step` apart between rows.
template <std::int64_t kCount, class T>
inline void rows_times_strip(const T* a, std::int64_t row_step, std::int64_t step, const T* strip, std::int64_t k, T* c,
                             std::int64_t ldc, std::int64_t cols) {
  T sums[kCount][kStrip] = {};
  for (std::int64_t p = 0; p < k; ++p, strip += kStrip) {
    for (std::int64_t i = 0; i < kCount; ++i) {
      const T factor = a[i * row_step + p * step];
      for (std::int64_t j = 0; j < kStrip; ++j) sums[i][j] = multiply_add(factor, strip[j], sums[i][j]);
    }
  }
  for (std::int64_t i = 0; i < kCount; ++i) {
    if (cols == kStrip) {
      std::memcpy(c + i * ldc, sums[i], sizeof(sums[i]));
    } else {
      for (std::int64_t j = 0; j < cols; ++j) c[i * ldc + j] = sums[i][j];
    }
  }
}

}  // namespace

template <class T>
bool SmallGemm<T>::suits(const GemmShape& s) {
  const std::int64_t padded = (s.n + kStrip - 1) / kStrip * kStrip;
  return s.k * padded <= kMaxPacked && s.m * s.n * s.k <= kMaxWork;
}

template <class T>
void SmallGemm<T>::run(const GemmShape& s, const T* a, const T* b, T* c) {
  alignas(64) T packed[kMaxPacked];
  const std::int64_t row_step = s.transpose_a ? 1 : s.k, step = s.transpose_a ? s.m : 1;
  for (std::int64_t col = 0; col < s.n; col += kStrip) {
    const std::int64_t cols = std::min(kStrip, s.n - col);
    T* strip = packed + col * s.k;
    for (std::int64_t p = 0; p < s.k; ++p) {
      for (std::int64_t j = 0; j < kStrip; ++j) {
        strip[p * kStrip + j] = j >= cols ? T(0) : s.transpose_b ? b[(col + j) * s.k + p] : b[p * s.n + col + j];
      }
    }
  }
  std::int64_t row = 0;
  for (; row + kRows <= s.m; row += kRows) {
    for (std::int64_t col = 0; col < s.n; col += kStrip) {
      rows_times_strip<kRows>(a + row * row_step, row_step, step, packed + col * s.k, s.k, c + row * s.n + col, s.n,
                              std::min(kStrip, s.n - col));
    }
  }
  for (; row < s.m; ++row) {
    for (std::int64_t col = 0; col < s.n; col += kStrip) {
      rows_times_strip<1>(a + row * row_step, row_step, step, packed + col * s.k, s.k, c + row * s.n + col, s.n,
                          std::min(kStrip, s.n - col));
    }
  }
}

template class SmallGemm<float>;
template class SmallGemm<double>;

}  // namespace cohort
