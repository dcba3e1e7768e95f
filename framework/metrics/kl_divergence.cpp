#include "cohort/metrics/kl_divergence.h"

#include "cohort/losses/kl_divergence.h"
#include "cohort/ops/cast.h"

namespace cohort::metrics {

KLDivergenceMetric::KLDivergenceMetric(MetricOptions options)
    : MeanMetricWrapper(named(std::move(options), "kl_divergence")) {}

Tensor KLDivergenceMetric::values(const Tensor& y_true, const Tensor& y_pred) {
  return losses::kl_divergence(ops::cast(y_true, dtype()), ops::cast(y_pred, dtype()));
}

COHORT_REGISTER(Metric, KLDivergenceMetric, "KLDivergence", "kl_divergence", "kld", "KLD");

KLDivergence::KLDivergence(MetricOptions options) : Handle(std::make_shared<KLDivergenceMetric>(std::move(options))) {}

}  // namespace cohort::metrics
