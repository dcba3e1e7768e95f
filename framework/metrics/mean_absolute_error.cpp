#include "cohort/metrics/mean_absolute_error.h"

#include "cohort/losses/mean_absolute_error.h"
#include "cohort/ops/cast.h"

namespace cohort::metrics {

MeanAbsoluteErrorMetric::MeanAbsoluteErrorMetric(MetricOptions options)
    : MeanMetricWrapper(named(std::move(options), "mean_absolute_error")) {}

Tensor MeanAbsoluteErrorMetric::values(const Tensor& y_true, const Tensor& y_pred) {
  return losses::mean_absolute_error(ops::cast(y_true, dtype()), ops::cast(y_pred, dtype()));
}

COHORT_REGISTER(Metric, MeanAbsoluteErrorMetric, "MeanAbsoluteError", "mean_absolute_error", "mae", "MAE");

MeanAbsoluteError::MeanAbsoluteError(MetricOptions options)
    : Handle(std::make_shared<MeanAbsoluteErrorMetric>(std::move(options))) {}

}  // namespace cohort::metrics
