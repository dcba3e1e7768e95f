#pragma once

#include "cohort/metrics/mean.h"

namespace cohort::metrics {

class MeanSquaredLogarithmicErrorMetric : public MeanMetricWrapper {
 public:
  explicit MeanSquaredLogarithmicErrorMetric(MetricOptions options = {});
  Tensor values(const Tensor& y_true, const Tensor& y_pred) override;
};

// Mean of (log(1 + y_true) - log(1 + y_pred))^2 over all samples; negative numbers count as zero.
// y_true and y_pred (batch, ..., outputs); the result is a scalar.
struct MeanSquaredLogarithmicError : Metric::Handle<MeanSquaredLogarithmicErrorMetric> {
  explicit MeanSquaredLogarithmicError(MetricOptions options = {});
};

}  // namespace cohort::metrics
