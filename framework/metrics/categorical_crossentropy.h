#pragma once

#include "cohort/metrics/mean.h"

namespace cohort::metrics {

struct CategoricalCrossentropyMetricOptions {
  std::string name = {};
  DType dtype = DType::Float32;
  bool from_logits = false;
  double label_smoothing = 0.0;
  // Axis of the classes.
  int axis = -1;
};
COHORT_FIELDS(CategoricalCrossentropyMetricOptions, from_logits, label_smoothing, axis)

class CategoricalCrossentropyMetric : public MeanMetricWrapper {
 public:
  explicit CategoricalCrossentropyMetric(CategoricalCrossentropyMetricOptions options = {});
  void visit_fields(FieldVisitor& visitor) override;
  Tensor values(const Tensor& y_true, const Tensor& y_pred) override;

 private:
  CategoricalCrossentropyMetricOptions options_;
};

// Mean over all samples of the cross-entropy of one-hot labels and predicted probabilities, or logits.
// y_true and y_pred (batch, ..., classes), of one shape; the result is a scalar.
struct CategoricalCrossentropy : Metric::Handle<CategoricalCrossentropyMetric> {
  explicit CategoricalCrossentropy(CategoricalCrossentropyMetricOptions options = {});
};

}  // namespace cohort::metrics
