#pragma once

#include <cstdint>

#include "cohort/kernels/cpu/epilogue.h"

namespace cohort {

// c (m x n) = a (m x k) * b (k x n), row-major and dense; a transposed operand is stored the other way round.
struct GemmShape {
  std::int64_t m = 0, n = 0, k = 0;
  bool transpose_a = false, transpose_b = false;
  // Of half types: which operands are float32, rounded while they are packed, and whether c is: rounded all the same.
  bool wide_a = false, wide_b = false, wide_c = false;
};

// What is done to rows of c while they are in the cache; the bias has a value for each column of c.
template <class T>
struct GemmFinish {
  const Epilogue<T>* epilogue = nullptr;
  const T* bias = nullptr;
};

// How many parts of c are computed side by side, and the tiles of each.
struct GemmCut {
  int threads = 1;
  std::int64_t row_tiles = 0, column_tiles = 0;
};

// A matrix product on own kernels. c is cut for the threads there are; every element is one chain of sums along k, or
// as many as the shape says, so its bits do not depend on the cut. T: float, double, Half and BFloat16 (float sums),
// any integer.
template <class T>
class Gemm {
 public:
  explicit Gemm(const GemmShape& shape);

  // Whether one product is worth several threads.
  bool shared() const { return shared_; }
  // How many products of a batch are worth one task of the pool.
  std::int64_t products_per_task() const;
  // On the pool. Matrices of T, or of float32 where the shape says so; a wide c takes no finish.
  void run(const void* a, const void* b, void* c, const GemmFinish<T>& finish = {}) const;
  // On the calling thread.
  void run_here(const void* a, const void* b, void* c, const GemmFinish<T>& finish = {}) const;

 private:
  GemmShape shape_;
  bool shared_ = false;
  GemmCut cut_;
};

// c = a * b on the calling thread, for operands whose rows lie lda, ldb and ldc apart. T: float, double.
template <class T>
void strided_gemm(const GemmShape& shape, const T* a, std::int64_t lda, const T* b, std::int64_t ldb, T* c,
                  std::int64_t ldc);

}  // namespace cohort
