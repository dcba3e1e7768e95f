#include "cohort/metrics/cosine_similarity.h"

#include "cohort/losses/cosine_similarity.h"
#include "cohort/ops/math.h"

namespace cohort::metrics {

CosineSimilarityMetric::CosineSimilarityMetric(CosineSimilarityMetricOptions options)
    : MeanMetricWrapper(named({options.name, options.dtype}, "cosine_similarity")), options_(std::move(options)) {}

void CosineSimilarityMetric::visit_fields(FieldVisitor& visitor) {
  MeanMetricWrapper::visit_fields(visitor);
  visit_options(options_, visitor);
}

Tensor CosineSimilarityMetric::values(const Tensor& y_true, const Tensor& y_pred) {
  return -losses::cosine_similarity(ops::cast(y_true, dtype()), ops::cast(y_pred, dtype()), options_.axis);
}

COHORT_REGISTER(Metric, CosineSimilarityMetric, "CosineSimilarity", "cosine_similarity");

CosineSimilarity::CosineSimilarity(CosineSimilarityMetricOptions options)
    : Handle(std::make_shared<CosineSimilarityMetric>(std::move(options))) {}

}  // namespace cohort::metrics
