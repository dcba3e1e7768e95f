#pragma once

#include "cohort/metrics/mean.h"

namespace cohort::metrics {

class LogCoshErrorMetric : public MeanMetricWrapper {
 public:
  explicit LogCoshErrorMetric(MetricOptions options = {});
  Tensor values(const Tensor& y_true, const Tensor& y_pred) override;
};

// Mean of log(cosh(y_pred - y_true)) over all samples.
// y_true and y_pred (batch, ..., outputs); the result is a scalar.
struct LogCoshError : Metric::Handle<LogCoshErrorMetric> {
  explicit LogCoshError(MetricOptions options = {});
};

}  // namespace cohort::metrics
