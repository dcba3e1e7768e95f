#pragma once

#include <cstdint>

#include "cohort/metrics/mean.h"

namespace cohort::metrics {

struct TopKCategoricalAccuracyMetricOptions {
  std::int64_t k = 5;
  std::string name = {};
  DType dtype = DType::Float32;
};

// How often the one-hot label is among the `k` largest predictions.
class TopKCategoricalAccuracyMetric : public MeanMetricWrapper {
 public:
  explicit TopKCategoricalAccuracyMetric(TopKCategoricalAccuracyMetricOptions options = {});
  std::string class_name() const override { return "TopKCategoricalAccuracy"; }
  void visit_fields(FieldVisitor& visitor) override;
  Tensor values(const Tensor& y_true, const Tensor& y_pred) override;

 private:
  TopKCategoricalAccuracyMetricOptions options_;
};

struct TopKCategoricalAccuracy : Metric::Handle<TopKCategoricalAccuracyMetric> {
  explicit TopKCategoricalAccuracy(TopKCategoricalAccuracyMetricOptions options = {})
      : Handle(std::make_shared<TopKCategoricalAccuracyMetric>(std::move(options))) {}
};

}  // namespace cohort::metrics
