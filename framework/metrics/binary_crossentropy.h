#pragma once

#include "cohort/metrics/mean.h"

namespace cohort::metrics {

struct BinaryCrossentropyMetricOptions {
  std::string name = {};
  DType dtype = DType::Float32;
  bool from_logits = false;
  double label_smoothing = 0.0;
};
COHORT_FIELDS(BinaryCrossentropyMetricOptions, from_logits, label_smoothing)

class BinaryCrossentropyMetric : public MeanMetricWrapper {
 public:
  explicit BinaryCrossentropyMetric(BinaryCrossentropyMetricOptions options = {});
  void visit_fields(FieldVisitor& visitor) override;
  Tensor values(const Tensor& y_true, const Tensor& y_pred) override;

 private:
  BinaryCrossentropyMetricOptions options_;
};

// Mean over all samples of the cross-entropy of labels 0 and 1 and predicted probabilities, or logits.
// y_true and y_pred (batch, ..., outputs), of one shape; the result is a scalar.
struct BinaryCrossentropy : Metric::Handle<BinaryCrossentropyMetric> {
  explicit BinaryCrossentropy(BinaryCrossentropyMetricOptions options = {});
};

}  // namespace cohort::metrics
