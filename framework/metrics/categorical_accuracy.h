#pragma once

#include "cohort/metrics/mean.h"

namespace cohort::metrics {

// How often the largest prediction stands where the one-hot label does.
class CategoricalAccuracyMetric : public MeanMetricWrapper {
 public:
  explicit CategoricalAccuracyMetric(MetricOptions options = {});
  std::string class_name() const override { return "CategoricalAccuracy"; }
  Tensor values(const Tensor& y_true, const Tensor& y_pred) override;
};

struct CategoricalAccuracy : Metric::Handle<CategoricalAccuracyMetric> {
  explicit CategoricalAccuracy(MetricOptions options = {})
      : Handle(std::make_shared<CategoricalAccuracyMetric>(std::move(options))) {}
};

}  // namespace cohort::metrics
