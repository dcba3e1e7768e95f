#pragma once

#include "cohort/metrics/mean.h"

namespace cohort::metrics {

struct BinaryAccuracyMetricOptions {
  std::string name = {};
  DType dtype = DType::Float32;
  double threshold = 0.5;
};
COHORT_FIELDS(BinaryAccuracyMetricOptions, threshold)

class BinaryAccuracyMetric : public MeanMetricWrapper {
 public:
  explicit BinaryAccuracyMetric(BinaryAccuracyMetricOptions options = {});
  void visit_fields(FieldVisitor& visitor) override;
  Tensor values(const Tensor& y_true, const Tensor& y_pred) override;

 private:
  BinaryAccuracyMetricOptions options_;
};

// How often predictions above the threshold meet labels of 1, and the others labels of 0.
// y_true of 0 and 1 and y_pred, of one shape (batch, ...); the result is a scalar.
struct BinaryAccuracy : Metric::Handle<BinaryAccuracyMetric> {
  explicit BinaryAccuracy(BinaryAccuracyMetricOptions options = {});
};

}  // namespace cohort::metrics
