#include "cohort/metrics/categorical_crossentropy.h"

#include "cohort/losses/categorical_crossentropy.h"
#include "cohort/ops/cast.h"

namespace cohort::metrics {

CategoricalCrossentropyMetric::CategoricalCrossentropyMetric(CategoricalCrossentropyMetricOptions options)
    : MeanMetricWrapper(named({options.name, options.dtype}, "categorical_crossentropy")),
      options_(std::move(options)) {}

void CategoricalCrossentropyMetric::visit_fields(FieldVisitor& visitor) {
  MeanMetricWrapper::visit_fields(visitor);
  visit_options(options_, visitor);
}

Tensor CategoricalCrossentropyMetric::values(const Tensor& y_true, const Tensor& y_pred) {
  return losses::categorical_crossentropy(ops::cast(y_true, dtype()), ops::cast(y_pred, dtype()), options_.from_logits,
                                          options_.label_smoothing, options_.axis);
}

COHORT_REGISTER(Metric, CategoricalCrossentropyMetric, "CategoricalCrossentropy", "categorical_crossentropy");

CategoricalCrossentropy::CategoricalCrossentropy(CategoricalCrossentropyMetricOptions options)
    : Handle(std::make_shared<CategoricalCrossentropyMetric>(std::move(options))) {}

}  // namespace cohort::metrics
