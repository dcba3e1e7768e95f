#include "cohort/metrics/categorical_accuracy.h"

#include "cohort/ops/math.h"
#include "cohort/ops/reduce.h"

namespace cohort::metrics {

CategoricalAccuracyMetric::CategoricalAccuracyMetric(MetricOptions options)
    : MeanMetricWrapper(named(std::move(options), "categorical_accuracy")) {}

Tensor CategoricalAccuracyMetric::values(const Tensor& y_true, const Tensor& y_pred) {
  return ops::cast(ops::equal(ops::argmax(y_true, -1), ops::argmax(y_pred, -1)), dtype());
}

COHORT_REGISTER(Metric, CategoricalAccuracyMetric, "CategoricalAccuracy", "categorical_accuracy");

CategoricalAccuracy::CategoricalAccuracy(MetricOptions options)
    : Handle(std::make_shared<CategoricalAccuracyMetric>(std::move(options))) {}

}  // namespace cohort::metrics
