#pragma once

#include "cohort/metrics/mean.h"

namespace cohort::metrics {

// The mean of losses::poisson over all samples.
class PoissonMetric : public MeanMetricWrapper {
 public:
  explicit PoissonMetric(MetricOptions options = {});
  std::string class_name() const override { return "Poisson"; }
  Tensor values(const Tensor& y_true, const Tensor& y_pred) override;
};

struct Poisson : Metric::Handle<PoissonMetric> {
  explicit Poisson(MetricOptions options = {}) : Handle(std::make_shared<PoissonMetric>(std::move(options))) {}
};

}  // namespace cohort::metrics
