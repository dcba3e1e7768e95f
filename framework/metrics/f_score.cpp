#include "cohort/metrics/f_score.h"

#include "cohort/core/text.h"
#include "cohort/ops/array.h"
#include "cohort/ops/epsilon.h"
#include "cohort/ops/math.h"
#include "cohort/ops/reduce.h"

namespace cohort::metrics {
FBetaScoreMetric::FBetaScoreMetric(FBetaScoreOptions options, const char* default_name)
    : Metric(options.name.empty() ? default_name : options.name, options.dtype), options_(std::move(options)) {
  FBetaScoreMetric::fields_changed();
}

void FBetaScoreMetric::visit_fields(FieldVisitor& visitor) {
  Metric::visit_fields(visitor);
  visit_options(options_, visitor);
}

void FBetaScoreMetric::fields_changed() {
  const std::string who = titled("Metric", name());
  const auto& average = options_.average;
  if (average && *average != "micro" && *average != "macro" && *average != "weighted") {
    throw invalid_argument(who, "average must be 'micro', 'macro', 'weighted' or left out", {{"average", *average}});
  }
  if (!(options_.beta > 0.0)) throw invalid_argument(who, "beta must be above 0", {{"beta", options_.beta}});
  if (options_.threshold && !(*options_.threshold > 0.0 && *options_.threshold <= 1.0)) {
    throw invalid_argument(who, "threshold must lie in (0, 1]", {{"threshold", *options_.threshold}});
  }
}

void FBetaScoreMetric::ensure_state(const Tensor& y_true, const Tensor& y_pred) {
  if (y_pred.rank() != 2 || y_true.rank() != 2 || y_pred.shape().back() == kUnknown) {
    throw invalid_argument(titled("Metric", name()), "y_true and y_pred must be (batch, classes)",
                           {{"y_true.shape", y_true.shape()}, {"y_pred.shape", y_pred.shape()}});
  }
  if (true_positives_.defined()) return;
  const Shape shape = options_.average == "micro" ? Shape{} : Shape{y_pred.shape().back()};
  true_positives_ = add_variable("true_positives", shape);
  false_positives_ = add_variable("false_positives", shape);
  false_negatives_ = add_variable("false_negatives", shape);
  intermediate_weights_ = add_variable("intermediate_weights", shape);
}

void FBetaScoreMetric::update_state(const Tensor& y_true, const Tensor& y_pred, const Tensor& sample_weight) {
  ensure_state(y_true, y_pred);
  const Tensor labels = ops::cast(y_true, dtype()), scores = ops::cast(y_pred, dtype());
  Tensor positive;
  if (options_.threshold) {
    positive = scores > *options_.threshold;
  } else {
    positive = ops::logical_and(scores >= ops::max(scores, -1, ops::keep_dims), ops::abs(scores) > 1e-9);
  }
  const Tensor found = ops::cast(positive, dtype());
  const auto total = [&](const Tensor& values) {
    const Tensor weighted =
        sample_weight.defined() ? values * ops::expand_dims(ops::cast(sample_weight, dtype()), 1) : values;
    return options_.average == "micro" ? ops::sum(weighted) : ops::sum(weighted, 0);
  };
  true_positives_.assign_add(total(found * labels));
  false_positives_.assign_add(total(found * (1.0 - labels)));
  false_negatives_.assign_add(total((1.0 - found) * labels));
  intermediate_weights_.assign_add(total(labels));
}

Tensor FBetaScoreMetric::result() {
  if (!true_positives_.defined()) {
    throw failed_precondition(titled("Metric", name()), "a result exists after the first update");
  }
  const Tensor right = true_positives_;
  const Tensor precision = right / (right + false_positives_.value() + kEpsilon);
  const Tensor recall = right / (right + false_negatives_.value() + kEpsilon);
  const double beta_squared = options_.beta * options_.beta;
  const Tensor score = precision * recall / (beta_squared * precision + recall + kEpsilon) * (1.0 + beta_squared);
  if (options_.average == "weighted") {
    const Tensor weights = intermediate_weights_;
    return ops::sum(score * (weights / (ops::sum(weights) + kEpsilon)));
  }
  return options_.average ? ops::mean(score) : score;
}

F1ScoreMetric::F1ScoreMetric(F1ScoreOptions options)
    : FBetaScoreMetric({options.average, 1.0, options.threshold, options.name, options.dtype}, "f1_score") {}

void F1ScoreMetric::visit_fields(FieldVisitor& visitor) {
  Metric::visit_fields(visitor);
  visitor.field("average", options_.average);
  visitor.field("threshold", options_.threshold);
}

COHORT_REGISTER(Metric, FBetaScoreMetric, "FBetaScore", "f_beta_score", "fbeta_score");
COHORT_REGISTER(Metric, F1ScoreMetric, "F1Score", "f1_score");

FBetaScore::FBetaScore(FBetaScoreOptions options) : Handle(std::make_shared<FBetaScoreMetric>(std::move(options))) {}
F1Score::F1Score(F1ScoreOptions options) : Handle(std::make_shared<F1ScoreMetric>(std::move(options))) {}

}  // namespace cohort::metrics
