#pragma once

#include "cohort/metrics/mean.h"

namespace cohort::metrics {

class AccuracyMetric : public MeanMetricWrapper {
 public:
  explicit AccuracyMetric(MetricOptions options = {});
  Tensor values(const Tensor& y_true, const Tensor& y_pred) override;
};

// How often predictions equal labels. In compile() the name 'accuracy' means BinaryAccuracy, CategoricalAccuracy or
// SparseCategoricalAccuracy, as the shapes ask for.
// y_true and y_pred of one shape, (batch, ...); the result is a scalar.
struct Accuracy : Metric::Handle<AccuracyMetric> {
  explicit Accuracy(MetricOptions options = {});
};

}  // namespace cohort::metrics
