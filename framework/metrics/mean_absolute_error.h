#pragma once

#include "cohort/metrics/mean.h"

namespace cohort::metrics {

// The mean of losses::mean_absolute_error over all samples.
class MeanAbsoluteErrorMetric : public MeanMetricWrapper {
 public:
  explicit MeanAbsoluteErrorMetric(MetricOptions options = {});
  std::string class_name() const override { return "MeanAbsoluteError"; }
  Tensor values(const Tensor& y_true, const Tensor& y_pred) override;
};

struct MeanAbsoluteError : Metric::Handle<MeanAbsoluteErrorMetric> {
  explicit MeanAbsoluteError(MetricOptions options = {})
      : Handle(std::make_shared<MeanAbsoluteErrorMetric>(std::move(options))) {}
};

}  // namespace cohort::metrics
