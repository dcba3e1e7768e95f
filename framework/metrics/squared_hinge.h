#pragma once

#include "cohort/metrics/mean.h"

namespace cohort::metrics {

// The mean of losses::squared_hinge over all samples.
class SquaredHingeMetric : public MeanMetricWrapper {
 public:
  explicit SquaredHingeMetric(MetricOptions options = {});
  std::string class_name() const override { return "SquaredHinge"; }
  Tensor values(const Tensor& y_true, const Tensor& y_pred) override;
};

struct SquaredHinge : Metric::Handle<SquaredHingeMetric> {
  explicit SquaredHinge(MetricOptions options = {})
      : Handle(std::make_shared<SquaredHingeMetric>(std::move(options))) {}
};

}  // namespace cohort::metrics
