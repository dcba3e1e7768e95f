#pragma once

#include "cohort/metrics/mean.h"

namespace cohort::metrics {

// The mean of losses::categorical_hinge over all samples.
class CategoricalHingeMetric : public MeanMetricWrapper {
 public:
  explicit CategoricalHingeMetric(MetricOptions options = {});
  std::string class_name() const override { return "CategoricalHinge"; }
  Tensor values(const Tensor& y_true, const Tensor& y_pred) override;
};

struct CategoricalHinge : Metric::Handle<CategoricalHingeMetric> {
  explicit CategoricalHinge(MetricOptions options = {})
      : Handle(std::make_shared<CategoricalHingeMetric>(std::move(options))) {}
};

}  // namespace cohort::metrics
