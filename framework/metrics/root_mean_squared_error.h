#pragma once

#include "cohort/metrics/mean.h"

namespace cohort::metrics {

class RootMeanSquaredErrorMetric : public MeanMetricWrapper {
 public:
  explicit RootMeanSquaredErrorMetric(MetricOptions options = {});
  Tensor values(const Tensor& y_true, const Tensor& y_pred) override;
  // As in Keras, the mask of y_pred is of no account here.
  void update_state(const Tensor& y_true, const Tensor& y_pred, const Tensor& sample_weight = {}) override;
  Tensor result() override;
};

// Root of the mean of (y_true - y_pred)^2 over all samples. As in Keras, the mask of y_pred is ignored.
// y_true and y_pred (batch, ..., outputs); the result is a scalar.
struct RootMeanSquaredError : Metric::Handle<RootMeanSquaredErrorMetric> {
  explicit RootMeanSquaredError(MetricOptions options = {});
};

}  // namespace cohort::metrics
