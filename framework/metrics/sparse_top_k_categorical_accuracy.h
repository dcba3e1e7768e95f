#pragma once

#include <cstdint>

#include "cohort/metrics/mean.h"

namespace cohort::metrics {

struct SparseTopKCategoricalAccuracyMetricOptions {
  std::int64_t k = 5;
  std::string name = {};
  DType dtype = DType::Float32;
  bool from_sorted_ids = false;
};

// How often the label is among the `k` largest predictions.
class SparseTopKCategoricalAccuracyMetric : public MeanMetricWrapper {
 public:
  explicit SparseTopKCategoricalAccuracyMetric(SparseTopKCategoricalAccuracyMetricOptions options = {});
  std::string class_name() const override { return "SparseTopKCategoricalAccuracy"; }
  void visit_fields(FieldVisitor& visitor) override;
  Tensor values(const Tensor& y_true, const Tensor& y_pred) override;

 private:
  SparseTopKCategoricalAccuracyMetricOptions options_;
};

struct SparseTopKCategoricalAccuracy : Metric::Handle<SparseTopKCategoricalAccuracyMetric> {
  explicit SparseTopKCategoricalAccuracy(SparseTopKCategoricalAccuracyMetricOptions options = {})
      : Handle(std::make_shared<SparseTopKCategoricalAccuracyMetric>(std::move(options))) {}
};

}  // namespace cohort::metrics
