#pragma once

#include "cohort/metrics/mean.h"

namespace cohort::metrics {

// The mean of losses::hinge over all samples.
class HingeMetric : public MeanMetricWrapper {
 public:
  explicit HingeMetric(MetricOptions options = {});
  std::string class_name() const override { return "Hinge"; }
  Tensor values(const Tensor& y_true, const Tensor& y_pred) override;
};

struct Hinge : Metric::Handle<HingeMetric> {
  explicit Hinge(MetricOptions options = {}) : Handle(std::make_shared<HingeMetric>(std::move(options))) {}
};

}  // namespace cohort::metrics
