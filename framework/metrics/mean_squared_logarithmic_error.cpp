#include "cohort/metrics/mean_squared_logarithmic_error.h"

#include "cohort/losses/mean_squared_logarithmic_error.h"
#include "cohort/ops/cast.h"

namespace cohort::metrics {

MeanSquaredLogarithmicErrorMetric::MeanSquaredLogarithmicErrorMetric(MetricOptions options)
    : MeanMetricWrapper(named(std::move(options), "mean_squared_logarithmic_error")) {}

Tensor MeanSquaredLogarithmicErrorMetric::values(const Tensor& y_true, const Tensor& y_pred) {
  return losses::mean_squared_logarithmic_error(ops::cast(y_true, dtype()), ops::cast(y_pred, dtype()));
}

COHORT_REGISTER(Metric, MeanSquaredLogarithmicErrorMetric, "MeanSquaredLogarithmicError",
                "mean_squared_logarithmic_error", "msle", "MSLE");

MeanSquaredLogarithmicError::MeanSquaredLogarithmicError(MetricOptions options)
    : Handle(std::make_shared<MeanSquaredLogarithmicErrorMetric>(std::move(options))) {}

}  // namespace cohort::metrics
