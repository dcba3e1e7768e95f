#include "cohort/metrics/log_cosh_error.h"

#include "cohort/losses/log_cosh.h"
#include "cohort/ops/cast.h"

namespace cohort::metrics {

LogCoshErrorMetric::LogCoshErrorMetric(MetricOptions options)
    : MeanMetricWrapper(named(std::move(options), "logcosh")) {}

Tensor LogCoshErrorMetric::values(const Tensor& y_true, const Tensor& y_pred) {
  return losses::log_cosh(ops::cast(y_true, dtype()), ops::cast(y_pred, dtype()));
}

COHORT_REGISTER(Metric, LogCoshErrorMetric, "LogCoshError", "log_cosh_error", "logcosh", "log_cosh");

LogCoshError::LogCoshError(MetricOptions options) : Handle(std::make_shared<LogCoshErrorMetric>(std::move(options))) {}

}  // namespace cohort::metrics
