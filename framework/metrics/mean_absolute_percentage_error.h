#pragma once

#include "cohort/metrics/mean.h"

namespace cohort::metrics {

class MeanAbsolutePercentageErrorMetric : public MeanMetricWrapper {
 public:
  explicit MeanAbsolutePercentageErrorMetric(MetricOptions options = {});
  Tensor values(const Tensor& y_true, const Tensor& y_pred) override;
};

// 100 * the mean of |y_true - y_pred| / |y_true| over all samples.
// y_true and y_pred (batch, ..., outputs); the result is a scalar.
struct MeanAbsolutePercentageError : Metric::Handle<MeanAbsolutePercentageErrorMetric> {
  explicit MeanAbsolutePercentageError(MetricOptions options = {});
};

}  // namespace cohort::metrics
