#pragma once

#include <cstdint>

#include "cohort/metrics/mean.h"

namespace cohort::metrics {

struct SparseTopKCategoricalAccuracyMetricOptions {
  // Number of the greatest predictions that count as right; ties with the k-th count too.
  std::int64_t k = 5;
  std::string name = {};
  DType dtype = DType::Float32;
  // Whether y_pred are class indices (batch, n), the best first, in place of scores.
  bool from_sorted_ids = false;
};
COHORT_FIELDS(SparseTopKCategoricalAccuracyMetricOptions, k, from_sorted_ids)

class SparseTopKCategoricalAccuracyMetric : public MeanMetricWrapper {
 public:
  explicit SparseTopKCategoricalAccuracyMetric(SparseTopKCategoricalAccuracyMetricOptions options = {});
  void visit_fields(FieldVisitor& visitor) override;
  Tensor values(const Tensor& y_true, const Tensor& y_pred) override;

 private:
  SparseTopKCategoricalAccuracyMetricOptions options_;
};

// How often the class the label names is among the k greatest predictions.
// y_true class indices (batch, ...) or (batch, ..., 1), y_pred (batch, ..., classes); the result is a scalar.
struct SparseTopKCategoricalAccuracy : Metric::Handle<SparseTopKCategoricalAccuracyMetric> {
  explicit SparseTopKCategoricalAccuracy(SparseTopKCategoricalAccuracyMetricOptions options = {});
};

}  // namespace cohort::metrics
