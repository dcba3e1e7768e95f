#include "cohort/metrics/top_k_categorical_accuracy.h"

#include "cohort/metrics/in_top_k.h"
#include "cohort/ops/math.h"
#include "cohort/ops/reduce.h"

namespace cohort::metrics {

TopKCategoricalAccuracyMetric::TopKCategoricalAccuracyMetric(TopKCategoricalAccuracyMetricOptions options)
    : MeanMetricWrapper(named({options.name, options.dtype}, "top_k_categorical_accuracy")),
      options_(std::move(options)) {}

void TopKCategoricalAccuracyMetric::visit_fields(FieldVisitor& visitor) {
  MeanMetricWrapper::visit_fields(visitor);
  visit_options(options_, visitor);
}

Tensor TopKCategoricalAccuracyMetric::values(const Tensor& y_true, const Tensor& y_pred) {
  return ops::cast(in_top_k(ops::argmax(y_true, -1), y_pred, options_.k), dtype());
}

COHORT_REGISTER(Metric, TopKCategoricalAccuracyMetric, "TopKCategoricalAccuracy", "top_k_categorical_accuracy");

TopKCategoricalAccuracy::TopKCategoricalAccuracy(TopKCategoricalAccuracyMetricOptions options)
    : Handle(std::make_shared<TopKCategoricalAccuracyMetric>(std::move(options))) {}

}  // namespace cohort::metrics
