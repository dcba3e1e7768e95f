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

// One row times one panel; the compiler makes vectors of the columns.
template <class T>
void row_times_panel(const T* a, const T* panel, std::int64_t k, T* c, std::int64_t width) {
  T sums[kWidth] = {};
  for (std::int64_t p = 0; p < k; ++p) {
    for (std::int64_t j = 0; j < kWidth; ++j) sums[j] += a[p] * panel[p * kWidth + j];
  }
  std::copy_n(sums, width, c);
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
  for (std::int64_t row = 0; row < rows; ++row) {
    const T* panel = panels_;
    for (std::int64_t col = 0; col < n_; col += kWidth, panel += k_ * kWidth) {
      row_times_panel(a + row * lda, panel, k_, c + row * ldc + col, std::min(kWidth, n_ - col));
    }
  }
}

template class PackedMatrix<float>;
template class PackedMatrix<double>;

}  // namespace cohort
