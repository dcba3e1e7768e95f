#pragma once

#include <cstdint>

namespace cohort {

// The right operand of many products with few rows, laid out once: the weights of a recurrence, which every step meets
// again. T: float, double.
template <class T>
class PackedMatrix {
 public:
  // b (k x n), row-major with rows ldb apart; transposed: stored as n x k. `memory` has size(k, n) elements.
  PackedMatrix(const T* b, std::int64_t ldb, bool transposed, std::int64_t k, std::int64_t n, T* memory);
  static std::int64_t size(std::int64_t k, std::int64_t n);
  // Elements of working memory that multiply() needs for `rows` rows.
  static std::int64_t work_size(std::int64_t k, std::int64_t rows);

  // c (rows x n, ldc apart) = a (rows x k, lda apart) * b.
  void multiply(const T* a, std::int64_t lda, std::int64_t rows, T* c, std::int64_t ldc, T* work) const;

 private:
  std::int64_t k_, n_;
  const T* panels_;
};

}  // namespace cohort
