#include "cohort/metrics/binary_crossentropy.h"

#include "cohort/losses/binary_crossentropy.h"
#include "cohort/ops/cast.h"

namespace cohort::metrics {

BinaryCrossentropyMetric::BinaryCrossentropyMetric(BinaryCrossentropyMetricOptions options)
    : MeanMetricWrapper(named({options.name, options.dtype}, "binary_crossentropy")), options_(std::move(options)) {}

void BinaryCrossentropyMetric::visit_fields(FieldVisitor& visitor) {
  MeanMetricWrapper::visit_fields(visitor);
  visit_options(options_, visitor);
}

Tensor BinaryCrossentropyMetric::values(const Tensor& y_true, const Tensor& y_pred) {
  return losses::binary_crossentropy(ops::cast(y_true, dtype()), ops::cast(y_pred, dtype()), options_.from_logits,
                                     options_.label_smoothing);
}

COHORT_REGISTER(Metric, BinaryCrossentropyMetric, "BinaryCrossentropy", "binary_crossentropy", "bce", "BCE");

BinaryCrossentropy::BinaryCrossentropy(BinaryCrossentropyMetricOptions options)
    : Handle(std::make_shared<BinaryCrossentropyMetric>(std::move(options))) {}

}  // namespace cohort::metrics
