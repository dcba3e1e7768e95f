#pragma once

#include <cstdint>
#include <optional>

#include "cohort/metrics/metric.h"

namespace cohort::metrics {

struct R2ScoreOptions {
  // How the outputs' scores become one: 'uniform_average', or 'variance_weighted_average' by the variance of the
  // labels. None: one score for each output.
  std::optional<std::string> class_aggregation = "uniform_average";
  // Number of the model's independent variables, for the adjusted score. 0: the plain score.
  std::int64_t num_regressors = 0;
  std::string name = {};
  DType dtype = DType::Float32;
};
COHORT_FIELDS(R2ScoreOptions, class_aggregation, num_regressors)

class R2ScoreMetric : public Metric {
 public:
  explicit R2ScoreMetric(R2ScoreOptions options = {});
  void visit_fields(FieldVisitor& visitor) override;
  void fields_changed() override;
  void update_state(const Tensor& y_true, const Tensor& y_pred, const Tensor& sample_weight = {}) override;
  Tensor result() override;

 private:
  void ensure_state(const Tensor& y_true, const Tensor& y_pred);
  R2ScoreOptions options_;
  Variable num_samples_, squared_sum_, sum_, residual_, count_;
};

// Coefficient of determination: 1 - sum((y_true - y_pred)^2) / sum((y_true - mean(y_true))^2).
// y_true and y_pred (batch, outputs); the result is a scalar, or (outputs) without class_aggregation.
struct R2Score : Metric::Handle<R2ScoreMetric> {
  explicit R2Score(R2ScoreOptions options = {});
};

}  // namespace cohort::metrics
