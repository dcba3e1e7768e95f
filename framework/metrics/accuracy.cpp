#include "cohort/metrics/accuracy.h"

#include "cohort/losses/loss.h"
#include "cohort/ops/math.h"

namespace cohort::metrics {

AccuracyMetric::AccuracyMetric(MetricOptions options) : MeanMetricWrapper(named(std::move(options), "accuracy")) {}

Tensor AccuracyMetric::values(const Tensor& y_true, const Tensor& y_pred) {
  const auto [labels, predictions] = squeeze_or_expand_to_same_rank(ops::cast(y_true, y_pred.dtype()), y_pred);
  return ops::cast(ops::equal(labels, predictions), dtype());
}

COHORT_REGISTER(Metric, AccuracyMetric, "Accuracy", "accuracy", "acc");

Accuracy::Accuracy(MetricOptions options) : Handle(std::make_shared<AccuracyMetric>(std::move(options))) {}

}  // namespace cohort::metrics
