#pragma once

#include <cstdint>
#include <vector>

#include "cohort/core/tensor.h"

namespace cohort::ops {

// Matrix product over the last two axes; the axes before them broadcast. A vector counts as a matrix with one row (on
// the left) or one column (on the right), and that axis is dropped from the result, as in numpy.
Tensor matmul(const Tensor& x1, const Tensor& x2, bool transpose_a = false, bool transpose_b = false);
// Sums over the last axis of x1 and the last but one of x2 (numpy.dot); scalars multiply.
Tensor dot(const Tensor& x1, const Tensor& x2);
// Sums over the axes named on either side, pairwise; the result has the other axes of x1, then those of x2.
Tensor tensordot(const Tensor& x1, const Tensor& x2, std::vector<std::int64_t> axes1, std::vector<std::int64_t> axes2);
// Sums over the last `axes` axes of x1 and the first `axes` of x2.
Tensor tensordot(const Tensor& x1, const Tensor& x2, int axes = 2);

// The products of all elements of x1 with all of x2: (size of x1, size of x2).
Tensor outer(const Tensor& x1, const Tensor& x2);
// Sums over the last axes of both.
Tensor inner(const Tensor& x1, const Tensor& x2);
// The sum of the products of all elements.
Tensor vdot(const Tensor& x1, const Tensor& x2);

}  // namespace cohort::ops
