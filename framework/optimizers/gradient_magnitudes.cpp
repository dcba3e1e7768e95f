#include "cohort/optimizers/gradient_magnitudes.h"

#include "cohort/ops/math.h"
#include "cohort/ops/reduce.h"

namespace cohort {

namespace {

Tensor of_each_slice(const Gradient& gradient, Tensor (*function)(const Tensor&)) {
  if (!gradient.is_slices()) return function(gradient.dense());
  const IndexedSlices& slices = gradient.slices();
  return Gradient(IndexedSlices{function(slices.values), slices.indices, slices.like}).dense();
}

}  // namespace

Tensor squares_of(const Gradient& gradient) { return of_each_slice(gradient, ops::square); }

Tensor magnitudes_of(const Gradient& gradient) { return of_each_slice(gradient, ops::abs); }

Tensor sum_of_squares(const Gradient& gradient) {
  return ops::sum(ops::square(gradient.is_slices() ? gradient.slices().values : gradient.dense()));
}

}  // namespace cohort
