#include "cohort/metrics/mean_squared_error.h"

#include "cohort/losses/mean_squared_error.h"
#include "cohort/ops/cast.h"

namespace cohort::metrics {

MeanSquaredErrorMetric::MeanSquaredErrorMetric(MetricOptions options)
    : MeanMetricWrapper(named(std::move(options), "mean_squared_error")) {}

Tensor MeanSquaredErrorMetric::values(const Tensor& y_true, const Tensor& y_pred) {
  return losses::mean_squared_error(ops::cast(y_true, dtype()), ops::cast(y_pred, dtype()));
}

COHORT_REGISTER(Metric, MeanSquaredErrorMetric, "MeanSquaredError", "mean_squared_error", "mse", "MSE");

MeanSquaredError::MeanSquaredError(MetricOptions options)
    : Handle(std::make_shared<MeanSquaredErrorMetric>(std::move(options))) {}

}  // namespace cohort::metrics
