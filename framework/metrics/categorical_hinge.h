#pragma once

#include "cohort/metrics/mean.h"

namespace cohort::metrics {

class CategoricalHingeMetric : public MeanMetricWrapper {
 public:
  explicit CategoricalHingeMetric(MetricOptions options = {});
  Tensor values(const Tensor& y_true, const Tensor& y_pred) override;
};

// Mean over all samples of max(0, 1 + the greatest score of a wrong class - the score of the right one).
// y_true one-hot (batch, ..., classes), y_pred scores (batch, ..., classes); the result is a scalar.
struct CategoricalHinge : Metric::Handle<CategoricalHingeMetric> {
  explicit CategoricalHinge(MetricOptions options = {});
};

}  // namespace cohort::metrics
