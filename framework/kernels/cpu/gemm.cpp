#include "cohort/kernels/cpu/gemm.h"

#include <cblas.h>

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "cohort/core/dtype.h"
#include "cohort/core/scratch.h"
#include "cohort/kernels/cpu/packed_gemm.h"
#include "cohort/kernels/cpu/small_gemm.h"

namespace cohort {
namespace {

// BLAS must not bring threads of its own: its calls run inside the pool's.
void keep_blas_single_threaded() {
  static const bool done = (openblas_set_num_threads(1), true);
  (void)done;
}

constexpr double kSplitFlops = 1e6;   // about 20 us of one core: twice what handing work over costs
constexpr double kBlockFlops = 48e6;  // larger products are cut into blocks of about this size
constexpr std::int64_t kTaskWork = 1 << 20;
constexpr std::int64_t kMinBlockRows = 48;  // thinner blocks spend their time packing the other operand
constexpr std::int64_t kMinBlockCols = 96;
constexpr std::int64_t kRowStep = 8, kColStep = 12;  // what the inner kernels compute at once

void blas_gemm(CBLAS_TRANSPOSE ta, CBLAS_TRANSPOSE tb, int m, int n, int k, const float* a, int lda, const float* b,
               int ldb, float* c, int ldc) {
  cblas_sgemm(CblasRowMajor, ta, tb, m, n, k, 1, a, lda, b, ldb, 0, c, ldc);
}
void blas_gemm(CBLAS_TRANSPOSE ta, CBLAS_TRANSPOSE tb, int m, int n, int k, const double* a, int lda, const double* b,
               int ldb, double* c, int ldc) {
  cblas_dgemm(CblasRowMajor, ta, tb, m, n, k, 1, a, lda, b, ldb, 0, c, ldc);
}

template <class T>
bool packs() {
  return !std::is_same_v<T, double> && PackedGemm::available();
}

template <class T>
struct Operands {
  const T* a;
  std::int64_t lda;
  const T* b;
  std::int64_t ldb;
  T* c;
  std::int64_t ldc;
};

// Where a block's operands start and how far apart their rows lie.
template <class T>
Operands<T> operands_of(const GemmShape& s, const typename Gemm<T>::Block& block, const T* a, const T* b, T* c) {
  const std::int64_t lda = s.transpose_a ? s.m : s.k, ldb = s.transpose_b ? s.k : s.n;
  return {a + (s.transpose_a ? block.row : block.row * lda),
          lda,
          b + (s.transpose_b ? block.col * ldb : block.col),
          ldb,
          c + block.row * s.n + block.col,
          s.n};
}

template <class T>
void floating_block(const GemmShape& s, const typename Gemm<T>::Block& block, const Operands<T>& x) {
  if constexpr (std::is_same_v<T, float>) {
    if (PackedGemm::available()) {
      return PackedGemm::run(s, block.rows, block.cols, x.a, x.lda, x.b, x.ldb, x.c, x.ldc);
    }
  }
  blas_gemm(s.transpose_a ? CblasTrans : CblasNoTrans, s.transpose_b ? CblasTrans : CblasNoTrans,
            static_cast<int>(block.rows), static_cast<int>(block.cols), static_cast<int>(s.k), x.a,
            static_cast<int>(x.lda), x.b, static_cast<int>(x.ldb), x.c, static_cast<int>(x.ldc));
}

Scratch widened;

// Half types are widened into memory of the thread's own.
template <class T>
void widened_block(const GemmShape& s, const typename Gemm<T>::Block& block, const Operands<T>& x) {
  const std::int64_t a_size = block.rows * s.k, b_size = s.k * block.cols, c_size = block.rows * block.cols;
  float *a = widened.get<float>(a_size + b_size + c_size), *b = a + a_size, *c = b + b_size;
  for (std::int64_t i = 0; i < block.rows; ++i) {
    for (std::int64_t p = 0; p < s.k; ++p) a[i * s.k + p] = s.transpose_a ? x.a[p * x.lda + i] : x.a[i * x.lda + p];
  }
  for (std::int64_t p = 0; p < s.k; ++p) {
    for (std::int64_t j = 0; j < block.cols; ++j) {
      b[p * block.cols + j] = s.transpose_b ? x.b[j * x.ldb + p] : x.b[p * x.ldb + j];
    }
  }
  const GemmShape plain{block.rows, block.cols, s.k, false, false};
  floating_block<float>(plain, {0, block.rows, 0, block.cols}, {a, s.k, b, block.cols, c, block.cols});
  for (std::int64_t i = 0; i < block.rows; ++i) {
    for (std::int64_t j = 0; j < block.cols; ++j) x.c[i * x.ldc + j] = T(c[i * block.cols + j]);
  }
}

// Integers wrap around as C++'s unsigned ones do.
template <class T>
void integer_block(const GemmShape& s, const typename Gemm<T>::Block& block, const Operands<T>& x) {
  for (std::int64_t i = 0; i < block.rows; ++i) {
    for (std::int64_t j = 0; j < block.cols; ++j) {
      std::uint64_t sum = 0;
      for (std::int64_t p = 0; p < s.k; ++p) {
        sum += static_cast<std::uint64_t>(s.transpose_a ? x.a[p * x.lda + i] : x.a[i * x.lda + p]) *
               static_cast<std::uint64_t>(s.transpose_b ? x.b[j * x.ldb + p] : x.b[p * x.ldb + j]);
      }
      x.c[i * x.ldc + j] = static_cast<T>(sum);
    }
  }
}

}  // namespace

template <class T>
Gemm<T>::Gemm(const GemmShape& shape) : shape_(shape), block_rows_(shape.m), block_cols_(shape.n) {
  keep_blas_single_threaded();
  if constexpr (std::is_floating_point_v<T>) small_ = !packs<T>() && SmallGemm<T>::suits(shape);
  const double flops = 2.0 * static_cast<double>(shape.m) * static_cast<double>(shape.n) * static_cast<double>(shape.k);
  if (small_ || flops < kSplitFlops) return;
  // An even number of blocks: two threads then finish together.
  const std::int64_t wanted = 2 * std::max<std::int64_t>(1, std::llround(flops / (2 * kBlockFlops)));
  const std::int64_t by_rows = std::max<std::int64_t>(1, shape.m / kMinBlockRows);
  const std::int64_t by_cols = std::max<std::int64_t>(1, shape.n / kMinBlockCols);
  // The packed kernel shares best what is longer; BLAS packs a transposed b slowly, so each block takes its own
  // columns.
  const bool columns_first = packs<T>() ? shape.n >= shape.m && by_cols >= std::min<std::int64_t>(wanted, by_rows)
                             : shape.transpose_b ? by_cols >= wanted
                                                 : by_rows < wanted;
  if (columns_first) {
    col_blocks_ = std::min(wanted, by_cols);
    row_blocks_ = std::min(by_rows, (wanted + col_blocks_ - 1) / col_blocks_);
  } else {
    row_blocks_ = std::min(wanted, by_rows);
    col_blocks_ = std::min(by_cols, (wanted + row_blocks_ - 1) / row_blocks_);
  }
  const auto step_up = [](std::int64_t size, std::int64_t parts, std::int64_t step) {
    return ((size + parts - 1) / parts + step - 1) / step * step;
  };
  block_rows_ = row_blocks_ == 1 ? shape.m : step_up(shape.m, row_blocks_, kRowStep);
  block_cols_ = col_blocks_ == 1 ? shape.n : step_up(shape.n, col_blocks_, kColStep);
  row_blocks_ = (shape.m + block_rows_ - 1) / block_rows_;
  col_blocks_ = (shape.n + block_cols_ - 1) / block_cols_;
}

template <class T>
std::int64_t Gemm<T>::products_per_task() const {
  const std::int64_t work = std::max<std::int64_t>(1, shape_.m * shape_.n * shape_.k);
  return std::max<std::int64_t>(1, kTaskWork / work);
}

template <class T>
typename Gemm<T>::Block Gemm<T>::block(std::int64_t index) const {
  const std::int64_t row = index / col_blocks_ * block_rows_, col = index % col_blocks_ * block_cols_;
  return {row, std::min(block_rows_, shape_.m - row), col, std::min(block_cols_, shape_.n - col)};
}

template <class T>
void Gemm<T>::run_block(std::int64_t index, const T* a, const T* b, T* c) const {
  const Block at = block(index);
  if (at.rows <= 0 || at.cols <= 0) return;
  const Operands<T> x = operands_of<T>(shape_, at, a, b, c);
  if (shape_.k == 0) {
    for (std::int64_t i = 0; i < at.rows; ++i) std::fill_n(x.c + i * x.ldc, at.cols, T(0));
  } else if constexpr (std::is_floating_point_v<T>) {
    if (small_) {
      SmallGemm<T>::run(shape_, a, b, c);
    } else {
      floating_block<T>(shape_, at, x);
    }
  } else if constexpr (std::is_integral_v<T>) {
    integer_block<T>(shape_, at, x);
  } else {
    widened_block<T>(shape_, at, x);
  }
}

template <class T>
void strided_gemm(const GemmShape& shape, const T* a, std::int64_t lda, const T* b, std::int64_t ldb, T* c,
                  std::int64_t ldc) {
  keep_blas_single_threaded();
  floating_block<T>(shape, {0, shape.m, 0, shape.n}, {a, lda, b, ldb, c, ldc});
}
template void strided_gemm(const GemmShape&, const float*, std::int64_t, const float*, std::int64_t, float*,
                           std::int64_t);
template void strided_gemm(const GemmShape&, const double*, std::int64_t, const double*, std::int64_t, double*,
                           std::int64_t);

template class Gemm<float>;
template class Gemm<double>;
template class Gemm<Half>;
template class Gemm<BFloat16>;
template class Gemm<std::uint8_t>;
template class Gemm<std::int8_t>;
template class Gemm<std::int32_t>;
template class Gemm<std::int64_t>;

}  // namespace cohort
