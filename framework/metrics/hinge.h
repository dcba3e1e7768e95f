#pragma once

#include "cohort/metrics/mean.h"

namespace cohort::metrics {

class HingeMetric : public MeanMetricWrapper {
 public:
  explicit HingeMetric(MetricOptions options = {});
  Tensor values(const Tensor& y_true, const Tensor& y_pred) override;
};

// Mean of max(0, 1 - y_true * y_pred) over all samples; labels are -1 and 1, or 0 and 1.
// y_true and y_pred (batch, ..., outputs), y_pred of scores; the result is a scalar.
struct Hinge : Metric::Handle<HingeMetric> {
  explicit Hinge(MetricOptions options = {});
};

}  // namespace cohort::metrics
