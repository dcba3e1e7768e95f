#pragma once

#include "cohort/metrics/mean.h"

namespace cohort::metrics {

class MeanAbsoluteErrorMetric : public MeanMetricWrapper {
 public:
  explicit MeanAbsoluteErrorMetric(MetricOptions options = {});
  Tensor values(const Tensor& y_true, const Tensor& y_pred) override;
};

// Mean of |y_true - y_pred| over all samples.
// y_true and y_pred (batch, ..., outputs); the result is a scalar.
struct MeanAbsoluteError : Metric::Handle<MeanAbsoluteErrorMetric> {
  explicit MeanAbsoluteError(MetricOptions options = {});
};

}  // namespace cohort::metrics
