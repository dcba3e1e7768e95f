#include "cohort/optimizers/gradient_magnitudes.h"

#include "cohort/core/dispatch.h"
#include "cohort/ops/math.h"
#include "cohort/ops/reduce.h"

namespace cohort {

namespace {

// Both tables cross between replicas at once, rows only once for both.
DenseGradient with_each(const Gradient& gradient, const char* function) {
  if (!gradient.is_slices()) return {gradient.dense()};
  const IndexedSlices& slices = gradient.slices();
  Tensors tables;
  if (slices.rows_cross()) {
    tables = run_op_all("AllReduceRows", {slices.collective, slices.like, slices.indices, slices.values},
                        {{"of_each", function}});
  } else {
    for (const Tensor& values : {slices.values, run_op(function, {slices.values})}) {
      tables.push_back(run_op("ScatterAddLike", {slices.like, slices.indices, values}));
    }
    tables = slices.over_replicas(tables);
  }
  return {tables[0], tables[1]};
}

}  // namespace

DenseGradient with_squares(const Gradient& gradient) { return with_each(gradient, "Square"); }

DenseGradient with_magnitudes(const Gradient& gradient) { return with_each(gradient, "Abs"); }

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
