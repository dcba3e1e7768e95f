#include "cohort/metrics/categorical_hinge.h"

#include "cohort/losses/categorical_hinge.h"
#include "cohort/ops/cast.h"

namespace cohort::metrics {

CategoricalHingeMetric::CategoricalHingeMetric(MetricOptions options)
    : MeanMetricWrapper(named(std::move(options), "categorical_hinge")) {}

Tensor CategoricalHingeMetric::values(const Tensor& y_true, const Tensor& y_pred) {
  return losses::categorical_hinge(ops::cast(y_true, dtype()), ops::cast(y_pred, dtype()));
}

COHORT_REGISTER(Metric, CategoricalHingeMetric, "CategoricalHinge", "categorical_hinge");

CategoricalHinge::CategoricalHinge(MetricOptions options)
    : Handle(std::make_shared<CategoricalHingeMetric>(std::move(options))) {}

}  // namespace cohort::metrics
