#include "cohort/optimizers/squares.h"

#include "cohort/ops/math.h"
#include "cohort/ops/reduce.h"

namespace cohort {

Tensor squares_of(const Gradient& gradient) {
  if (!gradient.is_slices()) return ops::square(gradient.dense());
  const IndexedSlices& slices = gradient.slices();
  return Gradient(IndexedSlices{ops::square(slices.values), slices.indices, slices.like}).dense();
}

Tensor sum_of_squares(const Gradient& gradient) {
  return ops::sum(ops::square(gradient.is_slices() ? gradient.slices().values : gradient.dense()));
}

}  // namespace cohort
