#include "cohort/kernels/cpu/packed_matrix.h"

#include <algorithm>
#include <type_traits>

#include "cohort/kernels/cpu/gemm_panels.h"

namespace cohort {
namespace {

constexpr std::int64_t kWidth = 12;  // columns of a panel
constexpr std::int64_t kRows = 8;    // rows that are worked on together

std::int64_t padded(std::int64_t size, std::int64_t step) { return (size + step - 1) / step * step; }

#if defined(__aarch64__)
static_assert(kWidth == panels::kCols && kRows == panels::kRows);
template <class T>
constexpr bool kHasPanels = std::is_same_v<T, float>;
#else
template <class T>
constexpr bool kHasPanels = false;
#endif

// `kCount` rows times one panel; the compiler makes vectors of the columns.
template <std::int64_t kCount, class T>
void rows_times_panel(const T* a, std::int64_t lda, const T* panel, std::int64_t k, T* c, std::int64_t ldc,
                      std::int64_t width) {
  T sums[kCount][kWidth] = {};
  for (std::int64_t p = 0; p < k; ++p, panel += kWidth) {
    for (std::int64_t i = 0; i < kCount; ++i) {
      for (std::int64_t j = 0; j < kWidth; ++j) sums[i][j] += a[i * lda + p] * panel[j];
    }
  }
  for (std::int64_t i = 0; i < kCount; ++i) std::copy_n(sums[i], width, c + i * ldc);
}

}  // namespace

template <class T>
std::int64_t PackedMatrix<T>::size(std::int64_t k, std::int64_t n) {
  return k * padded(n, kWidth);
}

template <class T>
std::int64_t PackedMatrix<T>::work_size(std::int64_t k, std::int64_t rows) {
  return kHasPanels<T> ? k * padded(rows, kRows) : 0;
}

template <class T>
PackedMatrix<T>::PackedMatrix(const T* b, std::int64_t ldb, bool transposed, std::int64_t k, std::int64_t n, T* memory)
    : k_(k), n_(n), panels_(memory) {
  for (std::int64_t col = 0; col < n; col += kWidth, memory += k * kWidth) {
    const std::int64_t width = std::min(kWidth, n - col);
    for (std::int64_t p = 0; p < k; ++p) {
      for (std::int64_t j = 0; j < kWidth; ++j) {
        memory[p * kWidth + j] = j >= width ? T(0) : transposed ? b[(col + j) * ldb + p] : b[p * ldb + col + j];
      }
    }
  }
}

template <class T>
void PackedMatrix<T>::multiply(const T* a, std::int64_t lda, std::int64_t rows, T* c, std::int64_t ldc,
                               [[maybe_unused]] T* work) const {
#if defined(__aarch64__)
  if constexpr (kHasPanels<T>) {
    for (std::int64_t row = 0; row < rows; row += kRows) {
      panels::pack_along<kRows>(a + row * lda, lda, std::min(kRows, rows - row), k_, work + row * k_);
    }
    const T* panel = panels_;
    for (std::int64_t col = 0; col < n_; col += kWidth, panel += k_ * kWidth) {
      const std::int64_t width = std::min(kWidth, n_ - col);
      for (std::int64_t row = 0; row < rows; row += kRows) {
        const std::int64_t lines = std::min(kRows, rows - row);
        if (lines == kRows && width == kWidth) {
          panels::multiply_panels(work + row * k_, panel, k_, c + row * ldc + col, ldc, false);
        } else {
          panels::multiply_edge(work + row * k_, panel, k_, c + row * ldc + col, ldc, false, lines, width);
        }
      }
    }
    return;
  }
#endif
  const T* panel = panels_;
  for (std::int64_t col = 0; col < n_; col += kWidth, panel += k_ * kWidth) {
    const std::int64_t width = std::min(kWidth, n_ - col);
    std::int64_t row = 0;
    for (; row + 4 <= rows; row += 4) {
      rows_times_panel<4>(a + row * lda, lda, panel, k_, c + row * ldc + col, ldc, width);
    }
    for (; row < rows; ++row) rows_times_panel<1>(a + row * lda, lda, panel, k_, c + row * ldc + col, ldc, width);
  }
}

template class PackedMatrix<float>;
template class PackedMatrix<double>;

}  // namespace cohort
