#include "cohort/optimizers/gradient_magnitudes.h"

#include "cohort/ops/math.h"
#include "cohort/ops/reduce.h"

namespace cohort {

Tensor squares_of(const Gradient& gradient) {
  return gradient.map([](const Tensor& values) { return ops::square(values); }).dense();
}

Tensor magnitudes_of(const Gradient& gradient) {
  return gradient.map([](const Tensor& values) { return ops::abs(values); }).dense();
}

Tensor sum_of_squares(const Gradient& gradient) {
  if (!gradient.is_slices()) return ops::sum(ops::square(gradient.dense()));
  return gradient.slices().over_replicas(ops::sum(ops::square(gradient.slices().values)));
}

Tensor all_finite(const Gradient& gradient) {
  const auto finite = [](const Tensor& values) { return ops::all(ops::is_finite(values)); };
  if (!gradient.is_slices()) return finite(gradient.dense());
  const Tensor here = finite(gradient.slices().values);
  if (!gradient.slices().collective.defined()) return here;
  const Tensor broken = gradient.slices().over_replicas(ops::cast(ops::logical_not(here), DType::Float32));
  return ops::equal(broken, 0.0);
}

}  // namespace cohort
