#pragma once

#include <cstdint>
#include <optional>

#include "cohort/metrics/metric.h"

namespace cohort::metrics {

struct R2ScoreOptions {
  // "uniform_average", "variance_weighted_average", or none: one score for each output
  std::optional<std::string> class_aggregation = "uniform_average";
  std::int64_t num_regressors = 0;  // above 0: the adjusted score
  std::string name = {};
  DType dtype = DType::Float32;
};

// The coefficient of determination of predictions (batch, outputs): 1 - residual / variance of the labels.
class R2ScoreMetric : public Metric {
 public:
  explicit R2ScoreMetric(R2ScoreOptions options = {});
  std::string class_name() const override { return "R2Score"; }
  void visit_fields(FieldVisitor& visitor) override;
  void fields_changed() override;
  void update_state(const Tensor& y_true, const Tensor& y_pred, const Tensor& sample_weight = {}) override;
  Tensor result() override;

 private:
  void ensure_state(const Tensor& y_true, const Tensor& y_pred);
  R2ScoreOptions options_;
  Variable num_samples_, squared_sum_, sum_, residual_, count_;
};

struct R2Score : Metric::Handle<R2ScoreMetric> {
  explicit R2Score(R2ScoreOptions options = {}) : Handle(std::make_shared<R2ScoreMetric>(std::move(options))) {}
};

}  // namespace cohort::metrics
