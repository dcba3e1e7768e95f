#pragma once

#include "cohort/core/op.h"

namespace cohort {

// The squares of a gradient, in its dense shape. Slices of one row are squared one by one and then added, as in Keras.
Tensor squares_of(const Gradient& gradient);
// The magnitudes of a gradient, in its dense shape. Slices of one row are made positive one by one and then added.
Tensor magnitudes_of(const Gradient& gradient);
// The sum of the squares of a gradient, a scalar.
Tensor sum_of_squares(const Gradient& gradient);
// Whether no element of it is infinite or not a number, on no replica; a scalar.
Tensor all_finite(const Gradient& gradient);

}  // namespace cohort
