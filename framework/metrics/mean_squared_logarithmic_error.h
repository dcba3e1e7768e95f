#pragma once

#include "cohort/metrics/mean.h"

namespace cohort::metrics {

// The mean of losses::mean_squared_logarithmic_error over all samples.
class MeanSquaredLogarithmicErrorMetric : public MeanMetricWrapper {
 public:
  explicit MeanSquaredLogarithmicErrorMetric(MetricOptions options = {});
  std::string class_name() const override { return "MeanSquaredLogarithmicError"; }
  Tensor values(const Tensor& y_true, const Tensor& y_pred) override;
};

struct MeanSquaredLogarithmicError : Metric::Handle<MeanSquaredLogarithmicErrorMetric> {
  explicit MeanSquaredLogarithmicError(MetricOptions options = {})
      : Handle(std::make_shared<MeanSquaredLogarithmicErrorMetric>(std::move(options))) {}
};

}  // namespace cohort::metrics
