#include "cohort/metrics/squared_hinge.h"

#include "cohort/losses/squared_hinge.h"
#include "cohort/ops/cast.h"

namespace cohort::metrics {

SquaredHingeMetric::SquaredHingeMetric(MetricOptions options)
    : MeanMetricWrapper(named(std::move(options), "squared_hinge")) {}

Tensor SquaredHingeMetric::values(const Tensor& y_true, const Tensor& y_pred) {
  return losses::squared_hinge(ops::cast(y_true, dtype()), ops::cast(y_pred, dtype()));
}

COHORT_REGISTER(Metric, SquaredHingeMetric, "SquaredHinge", "squared_hinge");

SquaredHinge::SquaredHinge(MetricOptions options) : Handle(std::make_shared<SquaredHingeMetric>(std::move(options))) {}

}  // namespace cohort::metrics
