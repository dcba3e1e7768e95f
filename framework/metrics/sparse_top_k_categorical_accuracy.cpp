#include "cohort/metrics/sparse_top_k_categorical_accuracy.h"

#include "cohort/metrics/in_top_k.h"
#include "cohort/ops/array.h"
#include "cohort/ops/math.h"
#include "cohort/ops/reduce.h"
#include "cohort/ops/slicing.h"

namespace cohort::metrics {

SparseTopKCategoricalAccuracyMetric::SparseTopKCategoricalAccuracyMetric(
    SparseTopKCategoricalAccuracyMetricOptions options)
    : MeanMetricWrapper(named({options.name, options.dtype}, "sparse_top_k_categorical_accuracy")),
      options_(std::move(options)) {}

void SparseTopKCategoricalAccuracyMetric::visit_fields(FieldVisitor& visitor) {
  MeanMetricWrapper::visit_fields(visitor);
  visit_options(options_, visitor);
}

Tensor SparseTopKCategoricalAccuracyMetric::values(const Tensor& y_true, const Tensor& y_pred) {
  if (options_.from_sorted_ids) {
    const Tensor first = ops::slice(y_pred, {0, 0}, {-1, options_.k});
    const Tensor labels = ops::expand_dims(ops::cast(ops::reshape(y_true, {-1}), y_pred.dtype()), 1);
    return ops::cast(ops::any(ops::equal(labels, first), 1), dtype());
  }
  return ops::cast(in_top_k(y_true, y_pred, options_.k), dtype());
}

COHORT_REGISTER(Metric, SparseTopKCategoricalAccuracyMetric, "SparseTopKCategoricalAccuracy",
                "sparse_top_k_categorical_accuracy");

SparseTopKCategoricalAccuracy::SparseTopKCategoricalAccuracy(SparseTopKCategoricalAccuracyMetricOptions options)
    : Handle(std::make_shared<SparseTopKCategoricalAccuracyMetric>(std::move(options))) {}

}  // namespace cohort::metrics
