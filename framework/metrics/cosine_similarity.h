#pragma once

#include "cohort/metrics/mean.h"
#include "cohort/ops/reduce.h"

namespace cohort::metrics {

struct CosineSimilarityMetricOptions {
  std::string name = {};
  DType dtype = DType::Float32;
  ops::Axes axis = -1;  // one or several
};

// The mean cosine of the angle between labels and predictions.
class CosineSimilarityMetric : public MeanMetricWrapper {
 public:
  explicit CosineSimilarityMetric(CosineSimilarityMetricOptions options = {});
  std::string class_name() const override { return "CosineSimilarity"; }
  void visit_fields(FieldVisitor& visitor) override;
  Tensor values(const Tensor& y_true, const Tensor& y_pred) override;

 private:
  CosineSimilarityMetricOptions options_;
};

struct CosineSimilarity : Metric::Handle<CosineSimilarityMetric> {
  explicit CosineSimilarity(CosineSimilarityMetricOptions options = {})
      : Handle(std::make_shared<CosineSimilarityMetric>(std::move(options))) {}
};

}  // namespace cohort::metrics
