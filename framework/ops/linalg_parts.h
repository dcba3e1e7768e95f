#pragma once

#include "cohort/core/op.h"
#include "cohort/ops/array.h"
#include "cohort/ops/broadcast.h"
#include "cohort/ops/creation.h"
#include "cohort/ops/math.h"
#include "cohort/ops/matmul.h"
#include "cohort/ops/matrices.h"

// What definitions of ops on matrices share. No size need be known.
namespace cohort::ops::linalg {

inline void check_matrices(const OpCall& call, int i) {
  call.check((call.dtype(i) == DType::Float32 || call.dtype(i) == DType::Float64) && call.rank(i) >= 2,
             "float32 or float64 matrices are expected: two axes or more", {{"x", call.spec(i)}});
}

inline bool may_be_equal(std::int64_t a, std::int64_t b) { return a == b || a == kUnknown || b == kUnknown; }

inline void check_square(const OpCall& call, int i = 0) {
  check_matrices(call, i);
  call.check(may_be_equal(call.shape(i).dim(-2), call.shape(i).dim(-1)), "square matrices are expected",
             {{"x.shape", call.shape(i)}});
}

// The smaller of two sizes, unknown where either is.
inline std::int64_t smaller_size(std::int64_t a, std::int64_t b) {
  return a == kUnknown || b == kUnknown ? kUnknown : std::min(a, b);
}

inline Shape leading_axes(const Shape& shape) { return shape.slice(0, shape.rank() - 2); }
inline Shape with_axes(Shape leading, std::initializer_list<std::int64_t> sizes) {
  for (const std::int64_t size : sizes) leading.push_back(size);
  return leading;
}

inline Tensor transposed(const Tensor& x) { return swapaxes(x, -2, -1); }

// The lower triangle with half of the diagonal: of a symmetric matrix, what it and its transpose add up to.
inline Tensor half_lower_triangle(const Tensor& x) { return 0.5 * (tril(x) + tril(x, -1)); }
inline Tensor identity_like(const Tensor& x) { return triu(tril(ones_like(x))); }
// Square matrices with the values of the last axis on their diagonals.
inline Tensor diagonal_matrix(const Tensor& values, const Tensor& like) {
  return identity_like(like) * expand_dims(values, -1);
}

// 1 / x, and 0 where x is 0.
inline Tensor reciprocal_or_zero(const Tensor& x) {
  const Tensor is_zero = equal(x, 0.0);
  return where(is_zero, 0.0, reciprocal(where(is_zero, 1.0, x)));
}

// A gradient summed over the leading axes along which `like` was broadcast.
inline Tensor summed_like(const Tensor& gradient, const Tensor& like) {
  const Shape &a = gradient.shape(), &b = like.shape();
  return a == b && (a.rank() == 2 || a.fully_known()) ? gradient : sum_to_like(gradient, like);
}

}  // namespace cohort::ops::linalg
