#include "cohort/metrics/sparse_categorical_accuracy.h"

#include "cohort/ops/array.h"
#include "cohort/ops/math.h"
#include "cohort/ops/reduce.h"

namespace cohort::metrics {

SparseCategoricalAccuracyMetric::SparseCategoricalAccuracyMetric(MetricOptions options)
    : MeanMetricWrapper(named(std::move(options), "sparse_categorical_accuracy")) {}

Tensor SparseCategoricalAccuracyMetric::values(const Tensor& y_true, const Tensor& y_pred) {
  Tensor labels = y_true;
  if (labels.rank() == y_pred.rank() && labels.shape().back() == 1) labels = ops::squeeze(labels, {-1});
  const Tensor predicted = ops::cast(ops::argmax(y_pred, -1), labels.dtype());
  Tensor matches = ops::cast(ops::equal(labels, predicted), dtype());
  if (matches.rank() > 1 && matches.shape().back() == 1) matches = ops::squeeze(matches, {-1});
  return matches;
}

COHORT_REGISTER(Metric, SparseCategoricalAccuracyMetric, "SparseCategoricalAccuracy", "sparse_categorical_accuracy");

SparseCategoricalAccuracy::SparseCategoricalAccuracy(MetricOptions options)
    : Handle(std::make_shared<SparseCategoricalAccuracyMetric>(std::move(options))) {}

}  // namespace cohort::metrics
