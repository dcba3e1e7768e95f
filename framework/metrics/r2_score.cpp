#include "cohort/metrics/r2_score.h"

#include "cohort/core/text.h"
#include "cohort/losses/loss.h"
#include "cohort/ops/array.h"
#include "cohort/ops/broadcast.h"
#include "cohort/ops/creation.h"
#include "cohort/ops/math.h"
#include "cohort/ops/reduce.h"

namespace cohort::metrics {

R2ScoreMetric::R2ScoreMetric(R2ScoreOptions options)
    : Metric(options.name.empty() ? "r2_score" : options.name, options.dtype), options_(std::move(options)) {
  R2ScoreMetric::fields_changed();
}

void R2ScoreMetric::visit_fields(FieldVisitor& visitor) {
  Metric::visit_fields(visitor);
  visit_options(options_, visitor);
}

void R2ScoreMetric::fields_changed() {
  const std::string who = titled("Metric", name());
  const auto& by = options_.class_aggregation;
  if (by && *by != "uniform_average" && *by != "variance_weighted_average") {
    throw invalid_argument(who, "class_aggregation must be 'uniform_average', 'variance_weighted_average' or none",
                           {{"class_aggregation", *by}});
  }
  if (options_.num_regressors < 0) {
    throw invalid_argument(who, "num_regressors must not be negative", {{"num_regressors", options_.num_regressors}});
  }
}

void R2ScoreMetric::ensure_state(const Tensor& y_true, const Tensor& y_pred) {
  if (y_pred.rank() != 2 || y_true.rank() != 2 || y_pred.shape().back() == kUnknown) {
    throw invalid_argument(titled("Metric", name()), "y_true and y_pred must be (batch, outputs)",
                           {{"y_true.shape", y_true.shape()}, {"y_pred.shape", y_pred.shape()}});
  }
  if (num_samples_.defined()) return;
  const Shape shape = {y_pred.shape().back()};
  num_samples_ = add_variable("num_samples", {});
  squared_sum_ = add_variable("squared_sum", shape);
  sum_ = add_variable("sum", shape);
  residual_ = add_variable("residual", shape);
  count_ = add_variable("count", shape);
}

void R2ScoreMetric::update_state(const Tensor& y_true, const Tensor& y_pred, const Tensor& sample_weight) {
  const auto [labels, predictions] =
      squeeze_or_expand_to_same_rank(ops::cast(y_true, dtype()), ops::cast(y_pred, dtype()));
  ensure_state(labels, predictions);
  Tensor weights = ops::ones_like(labels);
  if (sample_weight.defined()) {
    weights = ops::cast(sample_weight, dtype());
    if (weights.rank() == 1) weights = ops::expand_dims(weights, 1);
    weights = ops::broadcast_like(weights, labels);
  }
  const Tensor weighted = labels * weights;
  sum_.assign_add(ops::sum(weighted, 0));
  squared_sum_.assign_add(ops::sum(labels * weighted, 0));
  residual_.assign_add(ops::sum(ops::square(labels - predictions) * weights, 0));
  count_.assign_add(ops::sum(weights, 0));
  num_samples_.assign_add(ops::size_of(labels, {}, dtype()));
}

Tensor R2ScoreMetric::result() {
  if (!num_samples_.defined()) {
    throw failed_precondition(titled("Metric", name()), "a result exists after the first update");
  }
  const Tensor sum = sum_, total = squared_sum_.value() - sum * (sum / count_.value());
  const Tensor raw = 1.0 - residual_.value() / total;
  Tensor score = ops::where(ops::is_inf(raw), 0.0, raw);
  if (options_.class_aggregation == "uniform_average") {
    score = ops::mean(score);
  } else if (options_.class_aggregation == "variance_weighted_average") {
    score = ops::sum(total * score) / ops::sum(total);
  }
  if (options_.num_regressors == 0) return score;
  // With no more samples than regressors there is nothing to adjust by.
  const Tensor samples = num_samples_, left = samples - static_cast<double>(options_.num_regressors) - 1.0;
  const Tensor enough = left > 0.0;
  const Tensor adjusted = 1.0 - (1.0 - score) * (samples - 1.0) / ops::where(enough, left, 1.0);
  return ops::where(enough, adjusted, score);
}

COHORT_REGISTER(Metric, R2ScoreMetric, "R2Score", "r2_score");

R2Score::R2Score(R2ScoreOptions options) : Handle(std::make_shared<R2ScoreMetric>(std::move(options))) {}

}  // namespace cohort::metrics
