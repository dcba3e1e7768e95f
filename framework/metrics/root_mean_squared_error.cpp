#include "cohort/metrics/root_mean_squared_error.h"

#include "cohort/losses/loss.h"
#include "cohort/ops/math.h"

namespace cohort::metrics {

RootMeanSquaredErrorMetric::RootMeanSquaredErrorMetric(MetricOptions options)
    : MeanMetricWrapper(named(std::move(options), "root_mean_squared_error")) {}

Tensor RootMeanSquaredErrorMetric::values(const Tensor& y_true, const Tensor& y_pred) {
  const auto [labels, predictions] =
      squeeze_or_expand_to_same_rank(ops::cast(y_true, dtype()), ops::cast(y_pred, dtype()));
  return ops::squared_difference(labels, predictions);
}

void RootMeanSquaredErrorMetric::update_state(const Tensor& y_true, const Tensor& y_pred, const Tensor& sample_weight) {
  update_values(values(y_true, y_pred), sample_weight);
}

Tensor RootMeanSquaredErrorMetric::result() { return ops::sqrt(MeanMetric::result()); }

COHORT_REGISTER(Metric, RootMeanSquaredErrorMetric, "RootMeanSquaredError", "root_mean_squared_error");

RootMeanSquaredError::RootMeanSquaredError(MetricOptions options)
    : Handle(std::make_shared<RootMeanSquaredErrorMetric>(std::move(options))) {}

}  // namespace cohort::metrics
