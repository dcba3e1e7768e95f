#pragma once

#include <cstdint>
#include <optional>

#include "cohort/metrics/mean.h"

namespace cohort::metrics {

struct SparseCategoricalCrossentropyMetricOptions {
  std::string name = {};
  DType dtype = DType::Float32;
  bool from_logits = false;
  std::optional<std::int64_t> ignore_class = std::nullopt;
  // Axis of the classes in y_pred; must be the last.
  int axis = -1;
};
COHORT_FIELDS(SparseCategoricalCrossentropyMetricOptions, from_logits, ignore_class, axis)

class SparseCategoricalCrossentropyMetric : public MeanMetricWrapper {
 public:
  explicit SparseCategoricalCrossentropyMetric(SparseCategoricalCrossentropyMetricOptions options = {});
  void visit_fields(FieldVisitor& visitor) override;
  Tensor values(const Tensor& y_true, const Tensor& y_pred) override;

 private:
  SparseCategoricalCrossentropyMetricOptions options_;
};

// Mean over all samples of the cross-entropy of class indices and predicted probabilities, or logits.
// y_true class indices (batch, ...) or (batch, ..., 1), y_pred (batch, ..., classes); the result is a scalar.
struct SparseCategoricalCrossentropy : Metric::Handle<SparseCategoricalCrossentropyMetric> {
  explicit SparseCategoricalCrossentropy(SparseCategoricalCrossentropyMetricOptions options = {});
};

}  // namespace cohort::metrics
