#pragma once

#include <cstdint>

#include "cohort/metrics/mean.h"

namespace cohort::metrics {

struct TopKCategoricalAccuracyMetricOptions {
  // Number of the greatest predictions that count as right; ties with the k-th count too.
  std::int64_t k = 5;
  std::string name = {};
  DType dtype = DType::Float32;
};
COHORT_FIELDS(TopKCategoricalAccuracyMetricOptions, k)

class TopKCategoricalAccuracyMetric : public MeanMetricWrapper {
 public:
  explicit TopKCategoricalAccuracyMetric(TopKCategoricalAccuracyMetricOptions options = {});
  void visit_fields(FieldVisitor& visitor) override;
  Tensor values(const Tensor& y_true, const Tensor& y_pred) override;

 private:
  TopKCategoricalAccuracyMetricOptions options_;
};

// How often the right class is among the k greatest predictions.
// y_true one-hot (batch, ..., classes), y_pred (batch, ..., classes); the result is a scalar.
struct TopKCategoricalAccuracy : Metric::Handle<TopKCategoricalAccuracyMetric> {
  explicit TopKCategoricalAccuracy(TopKCategoricalAccuracyMetricOptions options = {});
};

}  // namespace cohort::metrics
