#include "cohort/metrics/hinge.h"

#include "cohort/losses/hinge.h"
#include "cohort/ops/cast.h"

namespace cohort::metrics {

HingeMetric::HingeMetric(MetricOptions options) : MeanMetricWrapper(named(std::move(options), "hinge")) {}

Tensor HingeMetric::values(const Tensor& y_true, const Tensor& y_pred) {
  return losses::hinge(ops::cast(y_true, dtype()), ops::cast(y_pred, dtype()));
}

COHORT_REGISTER(Metric, HingeMetric, "Hinge", "hinge");

Hinge::Hinge(MetricOptions options) : Handle(std::make_shared<HingeMetric>(std::move(options))) {}

}  // namespace cohort::metrics
