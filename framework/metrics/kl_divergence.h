#pragma once

#include "cohort/metrics/mean.h"

namespace cohort::metrics {

// The mean of losses::kl_divergence over all samples.
class KLDivergenceMetric : public MeanMetricWrapper {
 public:
  explicit KLDivergenceMetric(MetricOptions options = {});
  std::string class_name() const override { return "KLDivergence"; }
  Tensor values(const Tensor& y_true, const Tensor& y_pred) override;
};

struct KLDivergence : Metric::Handle<KLDivergenceMetric> {
  explicit KLDivergence(MetricOptions options = {})
      : Handle(std::make_shared<KLDivergenceMetric>(std::move(options))) {}
};

}  // namespace cohort::metrics
