#include "cohort/metrics/poisson.h"

#include "cohort/losses/poisson.h"
#include "cohort/ops/cast.h"

namespace cohort::metrics {

PoissonMetric::PoissonMetric(MetricOptions options) : MeanMetricWrapper(named(std::move(options), "poisson")) {}

Tensor PoissonMetric::values(const Tensor& y_true, const Tensor& y_pred) {
  return losses::poisson(ops::cast(y_true, dtype()), ops::cast(y_pred, dtype()));
}

COHORT_REGISTER(Metric, PoissonMetric, "Poisson", "poisson");

Poisson::Poisson(MetricOptions options) : Handle(std::make_shared<PoissonMetric>(std::move(options))) {}

}  // namespace cohort::metrics
