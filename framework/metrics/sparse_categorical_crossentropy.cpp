#include "cohort/metrics/sparse_categorical_crossentropy.h"

#include "cohort/losses/sparse_categorical_crossentropy.h"
#include "cohort/ops/cast.h"

namespace cohort::metrics {

SparseCategoricalCrossentropyMetric::SparseCategoricalCrossentropyMetric(
    SparseCategoricalCrossentropyMetricOptions options)
    : MeanMetricWrapper(named({options.name, options.dtype}, "sparse_categorical_crossentropy")),
      options_(std::move(options)) {}

void SparseCategoricalCrossentropyMetric::visit_fields(FieldVisitor& visitor) {
  MeanMetricWrapper::visit_fields(visitor);
  visit_options(options_, visitor);
}

Tensor SparseCategoricalCrossentropyMetric::values(const Tensor& y_true, const Tensor& y_pred) {
  return losses::sparse_categorical_crossentropy(y_true, ops::cast(y_pred, dtype()), options_.from_logits,
                                                 options_.ignore_class, options_.axis);
}

COHORT_REGISTER(Metric, SparseCategoricalCrossentropyMetric, "SparseCategoricalCrossentropy",
                "sparse_categorical_crossentropy");

SparseCategoricalCrossentropy::SparseCategoricalCrossentropy(SparseCategoricalCrossentropyMetricOptions options)
    : Handle(std::make_shared<SparseCategoricalCrossentropyMetric>(std::move(options))) {}

}  // namespace cohort::metrics
