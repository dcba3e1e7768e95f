#pragma once

#include "cohort/metrics/mean.h"

namespace cohort::metrics {

class KLDivergenceMetric : public MeanMetricWrapper {
 public:
  explicit KLDivergenceMetric(MetricOptions options = {});
  Tensor values(const Tensor& y_true, const Tensor& y_pred) override;
};

// Mean over all samples of the Kullback-Leibler divergence sum(y_true * log(y_true / y_pred)).
// y_true and y_pred (batch, ..., classes) of probabilities; the result is a scalar.
struct KLDivergence : Metric::Handle<KLDivergenceMetric> {
  explicit KLDivergence(MetricOptions options = {});
};

}  // namespace cohort::metrics
