#pragma once

#include "cohort/metrics/mean.h"

namespace cohort::metrics {

// The mean of losses::mean_squared_error over all samples.
class MeanSquaredErrorMetric : public MeanMetricWrapper {
 public:
  explicit MeanSquaredErrorMetric(MetricOptions options = {});
  std::string class_name() const override { return "MeanSquaredError"; }
  Tensor values(const Tensor& y_true, const Tensor& y_pred) override;
};

struct MeanSquaredError : Metric::Handle<MeanSquaredErrorMetric> {
  explicit MeanSquaredError(MetricOptions options = {})
      : Handle(std::make_shared<MeanSquaredErrorMetric>(std::move(options))) {}
};

}  // namespace cohort::metrics
