#include "cohort/metrics/mean_absolute_percentage_error.h"

#include "cohort/losses/mean_absolute_percentage_error.h"
#include "cohort/ops/cast.h"

namespace cohort::metrics {

MeanAbsolutePercentageErrorMetric::MeanAbsolutePercentageErrorMetric(MetricOptions options)
    : MeanMetricWrapper(named(std::move(options), "mean_absolute_percentage_error")) {}

Tensor MeanAbsolutePercentageErrorMetric::values(const Tensor& y_true, const Tensor& y_pred) {
  return losses::mean_absolute_percentage_error(ops::cast(y_true, dtype()), ops::cast(y_pred, dtype()));
}

COHORT_REGISTER(Metric, MeanAbsolutePercentageErrorMetric, "MeanAbsolutePercentageError",
                "mean_absolute_percentage_error", "mape", "MAPE");

MeanAbsolutePercentageError::MeanAbsolutePercentageError(MetricOptions options)
    : Handle(std::make_shared<MeanAbsolutePercentageErrorMetric>(std::move(options))) {}

}  // namespace cohort::metrics
