#pragma once

#include "cohort/metrics/mean.h"

namespace cohort::metrics {

// The mean of losses::log_cosh over all samples.
class LogCoshErrorMetric : public MeanMetricWrapper {
 public:
  explicit LogCoshErrorMetric(MetricOptions options = {});
  std::string class_name() const override { return "LogCoshError"; }
  Tensor values(const Tensor& y_true, const Tensor& y_pred) override;
};

struct LogCoshError : Metric::Handle<LogCoshErrorMetric> {
  explicit LogCoshError(MetricOptions options = {})
      : Handle(std::make_shared<LogCoshErrorMetric>(std::move(options))) {}
};

}  // namespace cohort::metrics
