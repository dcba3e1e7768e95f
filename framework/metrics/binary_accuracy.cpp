#include "cohort/metrics/binary_accuracy.h"

#include "cohort/losses/loss.h"
#include "cohort/ops/math.h"

namespace cohort::metrics {

BinaryAccuracyMetric::BinaryAccuracyMetric(BinaryAccuracyMetricOptions options)
    : MeanMetricWrapper(named({options.name, options.dtype}, "binary_accuracy")), options_(std::move(options)) {}

void BinaryAccuracyMetric::visit_fields(FieldVisitor& visitor) {
  MeanMetricWrapper::visit_fields(visitor);
  visit_options(options_, visitor);
}

Tensor BinaryAccuracyMetric::values(const Tensor& y_true, const Tensor& y_pred) {
  const auto [labels, predictions] =
      squeeze_or_expand_to_same_rank(ops::cast(y_true, dtype()), ops::cast(y_pred, dtype()));
  return ops::cast(ops::equal(labels, ops::cast(predictions > options_.threshold, dtype())), dtype());
}

COHORT_REGISTER(Metric, BinaryAccuracyMetric, "BinaryAccuracy", "binary_accuracy");

BinaryAccuracy::BinaryAccuracy(BinaryAccuracyMetricOptions options)
    : Handle(std::make_shared<BinaryAccuracyMetric>(std::move(options))) {}

}  // namespace cohort::metrics
