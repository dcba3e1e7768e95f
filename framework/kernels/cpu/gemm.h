#pragma once

#include <cstdint>

namespace cohort {

// c (m x n) = a (m x k) * b (k x n), row-major and dense; a transposed operand is stored the other way round.
struct GemmShape {
  std::int64_t m = 0, n = 0, k = 0;
  bool transpose_a = false, transpose_b = false;
};

// A matrix product cut into blocks of c. The cut depends on the shape alone, so the bits of the result do not depend on
// how many threads take part. T: float (an own kernel or BLAS), double (BLAS), Half and
// BFloat16 (through float), any integer.
template <class T>
class Gemm {
 public:
  struct Block {
    std::int64_t row, rows, col, cols;
  };

  explicit Gemm(const GemmShape& shape);

  std::int64_t blocks() const { return row_blocks_ * col_blocks_; }
  Block block(std::int64_t index) const;
  // How many products of a batch are worth one task of the pool.
  std::int64_t products_per_task() const;
  // Computes one block of c and nothing else of it.
  void run_block(std::int64_t index, const T* a, const T* b, T* c) const;

 private:
  GemmShape shape_;
  std::int64_t row_blocks_ = 1, col_blocks_ = 1;
  std::int64_t block_rows_ = 0, block_cols_ = 0;
  bool small_ = false;
};

// c = a * b on the calling thread, for operands whose rows lie lda, ldb and ldc apart. T: float, double; k is positive.
template <class T>
void strided_gemm(const GemmShape& shape, const T* a, std::int64_t lda, const T* b, std::int64_t ldb, T* c,
                  std::int64_t ldc);

}  // namespace cohort
