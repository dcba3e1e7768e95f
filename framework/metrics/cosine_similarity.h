#pragma once

#include "cohort/metrics/mean.h"
#include "cohort/ops/axes_codec.h"

namespace cohort::metrics {

struct CosineSimilarityMetricOptions {
  std::string name = {};
  DType dtype = DType::Float32;
  // Axis along which the vectors lie, or a list of several.
  ops::Axes axis = -1;
};
COHORT_FIELDS(CosineSimilarityMetricOptions, axis)

class CosineSimilarityMetric : public MeanMetricWrapper {
 public:
  explicit CosineSimilarityMetric(CosineSimilarityMetricOptions options = {});
  void visit_fields(FieldVisitor& visitor) override;
  Tensor values(const Tensor& y_true, const Tensor& y_pred) override;

 private:
  CosineSimilarityMetricOptions options_;
};

// Mean cosine of the angle between labels and predictions: 1 where they point the same way, -1 where they are opposite.
// y_true and y_pred (batch, ..., size); the result is a scalar.
struct CosineSimilarity : Metric::Handle<CosineSimilarityMetric> {
  explicit CosineSimilarity(CosineSimilarityMetricOptions options = {});
};

}  // namespace cohort::metrics
