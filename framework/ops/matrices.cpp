#include "cohort/ops/matrices.h"

#include <algorithm>

#include "cohort/ops/array.h"
#include "cohort/ops/creation.h"
#include "cohort/ops/cumulative.h"
#include "cohort/ops/math.h"
#include "cohort/ops/reduce.h"
#include "cohort/ops/slicing.h"

namespace cohort::ops {
namespace {

using Compare = Tensor (*)(const Tensor&, double);

// x cut to its first element along every axis but one.
Tensor first_along(const Tensor& x, int axis) {
  std::vector<SliceSpec> cut(static_cast<std::size_t>(x.rank()), {0, 1, 1});
  cut[static_cast<std::size_t>(x.rank() + axis)] = {};
  return strided_slice(x, cut);
}

// 1, 2, 3, ... along one of x's axes. Counting by a running sum needs no known size.
Tensor positions(const Tensor& x, int axis) {
  return cumsum(cast(ones_like(first_along(x, axis)), DType::Int32), axis);
}

// x where its column less its row compares with k, and 0 elsewhere.
Tensor banded(const Tensor& x, std::int64_t k, Compare compare) {
  if (x.rank() < 2)
    throw invalid_argument("tril, triu", "matrices are expected: two axes or more", {{"x.shape", x.shape()}});
  const Tensor inside = compare(positions(x, -1) - positions(x, -2), static_cast<double>(k));
  return where(inside, x, zeros_like(first_along(x, -1)));
}

// The matrices that two axes make, moved to the end.
Tensor with_matrices_last(const Tensor& x, int axis1, int axis2) { return moveaxis(x, {axis1, axis2}, {-2, -1}); }

}  // namespace

Tensor tril(const Tensor& x, std::int64_t k) { return banded(x, k, less_equal); }
Tensor triu(const Tensor& x, std::int64_t k) { return banded(x, k, greater_equal); }

Tensor diagonal(const Tensor& x, std::int64_t offset, int axis1, int axis2) {
  const Tensor matrices = with_matrices_last(x, axis1, axis2);
  const std::int64_t rows = matrices.shape().dim(-2), columns = matrices.shape().dim(-1);
  if (rows == kUnknown || columns == kUnknown) {
    throw invalid_argument("diagonal", "matrices of a known size are expected", {{"x.shape", x.shape()}});
  }
  const Tensor by_column = cast(sum(banded(matrices, offset, equal), {-2}), x.dtype());
  std::vector<SliceSpec> cut(static_cast<std::size_t>(by_column.rank()));
  cut.back() = {std::max<std::int64_t>(offset, 0), std::max<std::int64_t>(std::min(columns, rows + offset), 0), 1};
  return strided_slice(by_column, cut);
}

Tensor trace(const Tensor& x, std::int64_t offset, int axis1, int axis2) {
  return sum(banded(with_matrices_last(x, axis1, axis2), offset, equal), {-2, -1});
}

Tensor fliplr(const Tensor& x) { return flip(x, {1}); }
Tensor flipud(const Tensor& x) { return flip(x, {0}); }

Tensor rot90(const Tensor& array, int k, std::pair<int, int> axes) {
  Tensor x = array;
  for (int turn = ((k % 4) + 4) % 4; turn > 0; --turn) x = flip(swapaxes(x, axes.first, axes.second), {axes.first});
  return x;
}

}  // namespace cohort::ops
