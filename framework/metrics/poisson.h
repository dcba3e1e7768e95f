#pragma once

#include "cohort/metrics/mean.h"

namespace cohort::metrics {

class PoissonMetric : public MeanMetricWrapper {
 public:
  explicit PoissonMetric(MetricOptions options = {});
  Tensor values(const Tensor& y_true, const Tensor& y_pred) override;
};

// Mean of y_pred - y_true * log(y_pred) over all samples, for counts and predicted rates.
// y_true and y_pred (batch, ..., outputs); the result is a scalar.
struct Poisson : Metric::Handle<PoissonMetric> {
  explicit Poisson(MetricOptions options = {});
};

}  // namespace cohort::metrics
