#pragma once

#include <cstdint>

#include "cohort/core/dtype.h"
#include "cohort/core/shape.h"

namespace cohort::kernels::cuda {

// A batch of matrix products c (m x n) = a (m x k) * b (k x n), row-major; a transposed operand is stored the other way
// round. Batch axes that both operands walk alike are merged.
struct ProductShape {
  static constexpr int kMaxRank = Shape::kMaxRank;
  struct BatchAxis {
    std::int64_t size, a_stride, b_stride, c_stride;  // strides in elements, 0 for an operand that stays
  };

  DType operands = DType::Float32, result = DType::Float32;
  std::int64_t m = 0, n = 0, k = 0;
  bool transpose_a = false, transpose_b = false;
  int batch_rank = 0;
  BatchAxis batch[kMaxRank] = {};

  ProductShape() = default;
  // One product.
  ProductShape(DType dtype, std::int64_t m, std::int64_t n, std::int64_t k, bool transpose_a, bool transpose_b)
      : operands(dtype), result(dtype), m(m), n(n), k(k), transpose_a(transpose_a), transpose_b(transpose_b) {}
  // By the rules of the op MatMul.
  ProductShape(DType operands, const Shape& a, const Shape& b, DType result, const Shape& c, bool transpose_a,
               bool transpose_b);

  std::int64_t products() const {
    std::int64_t count = 1;
    for (int i = 0; i < batch_rank; ++i) count *= batch[i].size;
    return count;
  }
};

}  // namespace cohort::kernels::cuda
