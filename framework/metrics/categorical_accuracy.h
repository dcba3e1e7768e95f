#pragma once

#include "cohort/metrics/mean.h"

namespace cohort::metrics {

class CategoricalAccuracyMetric : public MeanMetricWrapper {
 public:
  explicit CategoricalAccuracyMetric(MetricOptions options = {});
  Tensor values(const Tensor& y_true, const Tensor& y_pred) override;
};

// How often the greatest prediction is that of the right class.
// y_true one-hot (batch, ..., classes), y_pred (batch, ..., classes); the result is a scalar.
struct CategoricalAccuracy : Metric::Handle<CategoricalAccuracyMetric> {
  explicit CategoricalAccuracy(MetricOptions options = {});
};

}  // namespace cohort::metrics
