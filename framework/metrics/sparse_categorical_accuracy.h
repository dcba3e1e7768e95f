#pragma once

#include "cohort/metrics/mean.h"

namespace cohort::metrics {

class SparseCategoricalAccuracyMetric : public MeanMetricWrapper {
 public:
  explicit SparseCategoricalAccuracyMetric(MetricOptions options = {});
  Tensor values(const Tensor& y_true, const Tensor& y_pred) override;
};

// How often the greatest prediction is that of the class the label names.
// y_true class indices (batch, ...) or (batch, ..., 1), y_pred (batch, ..., classes); the result is a scalar.
struct SparseCategoricalAccuracy : Metric::Handle<SparseCategoricalAccuracyMetric> {
  explicit SparseCategoricalAccuracy(MetricOptions options = {});
};

}  // namespace cohort::metrics
