#pragma once

#include "cohort/metrics/mean.h"

namespace cohort::metrics {

// The mean of losses::mean_absolute_percentage_error over all samples.
class MeanAbsolutePercentageErrorMetric : public MeanMetricWrapper {
 public:
  explicit MeanAbsolutePercentageErrorMetric(MetricOptions options = {});
  std::string class_name() const override { return "MeanAbsolutePercentageError"; }
  Tensor values(const Tensor& y_true, const Tensor& y_pred) override;
};

struct MeanAbsolutePercentageError : Metric::Handle<MeanAbsolutePercentageErrorMetric> {
  explicit MeanAbsolutePercentageError(MetricOptions options = {})
      : Handle(std::make_shared<MeanAbsolutePercentageErrorMetric>(std::move(options))) {}
};

}  // namespace cohort::metrics
