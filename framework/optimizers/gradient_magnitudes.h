#pragma once

#include "cohort/core/op.h"

namespace cohort {

// A gradient in its dense shape, as updates take it.
struct DenseGradient {
  Tensor sum;
  // Of slices alone, what an update takes beside their sum: what each of a row is by itself, then added up.
  Tensor of_each = {};
};

// A gradient and, of slices, their squares. They are squared one by one, as in Keras.
DenseGradient with_squares(const Gradient& gradient);
// A gradient and, of slices, their magnitudes, one by one.
DenseGradient with_magnitudes(const Gradient& gradient);
// The sum of the squares of a gradient, a scalar.
Tensor sum_of_squares(const Gradient& gradient);
// Whether no element of it is infinite or not a number, on no replica; a scalar.
Tensor all_finite(const Gradient& gradient);

}  // namespace cohort
