#pragma once

#include "cohort/metrics/mean.h"

namespace cohort::metrics {

// How often the largest prediction is that of the class the label names.
class SparseCategoricalAccuracyMetric : public MeanMetricWrapper {
 public:
  explicit SparseCategoricalAccuracyMetric(MetricOptions options = {});
  std::string class_name() const override { return "SparseCategoricalAccuracy"; }
  Tensor values(const Tensor& y_true, const Tensor& y_pred) override;
};

struct SparseCategoricalAccuracy : Metric::Handle<SparseCategoricalAccuracyMetric> {
  explicit SparseCategoricalAccuracy(MetricOptions options = {})
      : Handle(std::make_shared<SparseCategoricalAccuracyMetric>(std::move(options))) {}
};

}  // namespace cohort::metrics
