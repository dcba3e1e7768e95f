#pragma once

#include "cohort/metrics/mean.h"

namespace cohort::metrics {

class MeanSquaredErrorMetric : public MeanMetricWrapper {
 public:
  explicit MeanSquaredErrorMetric(MetricOptions options = {});
  Tensor values(const Tensor& y_true, const Tensor& y_pred) override;
};

// Mean of (y_true - y_pred)^2 over all samples.
// y_true and y_pred (batch, ..., outputs); the result is a scalar.
struct MeanSquaredError : Metric::Handle<MeanSquaredErrorMetric> {
  explicit MeanSquaredError(MetricOptions options = {});
};

}  // namespace cohort::metrics
