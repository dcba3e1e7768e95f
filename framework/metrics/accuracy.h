#pragma once

#include "cohort/metrics/mean.h"

namespace cohort::metrics {

// How often predictions equal labels.
class AccuracyMetric : public MeanMetricWrapper {
 public:
  explicit AccuracyMetric(MetricOptions options = {});
  std::string class_name() const override { return "Accuracy"; }
  Tensor values(const Tensor& y_true, const Tensor& y_pred) override;
};

struct Accuracy : Metric::Handle<AccuracyMetric> {
  explicit Accuracy(MetricOptions options = {}) : Handle(std::make_shared<AccuracyMetric>(std::move(options))) {}
};

}  // namespace cohort::metrics
