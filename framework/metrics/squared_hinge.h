#pragma once

#include "cohort/metrics/mean.h"

namespace cohort::metrics {

class SquaredHingeMetric : public MeanMetricWrapper {
 public:
  explicit SquaredHingeMetric(MetricOptions options = {});
  Tensor values(const Tensor& y_true, const Tensor& y_pred) override;
};

// Mean of max(0, 1 - y_true * y_pred)^2 over all samples; labels are -1 and 1, or 0 and 1.
// y_true and y_pred (batch, ..., outputs), y_pred of scores; the result is a scalar.
struct SquaredHinge : Metric::Handle<SquaredHingeMetric> {
  explicit SquaredHinge(MetricOptions options = {});
};

}  // namespace cohort::metrics
