#include "cohort/metrics/rate_at_constraint.h"

#include "cohort/core/text.h"
#include "cohort/losses/loss.h"
#include "cohort/ops/functions.h"
#include "cohort/ops/math.h"
#include "cohort/ops/reduce.h"

namespace cohort::metrics {

AtConstraintMetric::AtConstraintMetric(double value, AtConstraintOptions options, const char* default_name,
                                       const char* value_name)
    : Metric(options.name.empty() ? default_name : options.name, options.dtype),
      value_(value),
      options_(std::move(options)),
      value_name_(value_name) {
  AtConstraintMetric::fields_changed();
}

void AtConstraintMetric::visit_fields(FieldVisitor& visitor) {
  Metric::visit_fields(visitor);
  visit_options(options_, visitor);
  visitor.field(value_name_, value_);
}

void AtConstraintMetric::fields_changed() {
  const std::string who = titled("Metric", name());
  if (!(value_ >= 0.0 && value_ <= 1.0)) {
    throw invalid_argument(who, std::string(value_name_) + " must lie in [0, 1]", {{value_name_, value_}});
  }
  if (options_.num_thresholds < 1) {
    throw invalid_argument(who, "num_thresholds must be at least 1", {{"num_thresholds", options_.num_thresholds}});
  }
  rule_.thresholds = even_thresholds(options_.num_thresholds);
  rule_.evenly_spread = options_.num_thresholds > 1;
  rule_.class_id = options_.class_id;
}

void AtConstraintMetric::ensure_state() {
  if (true_positives_.defined()) return;
  const Shape shape = {static_cast<std::int64_t>(rule_.thresholds.size())};
  true_positives_ = add_variable("true_positives", shape);
  false_positives_ = add_variable("false_positives", shape);
  true_negatives_ = add_variable("true_negatives", shape);
  false_negatives_ = add_variable("false_negatives", shape);
}

void AtConstraintMetric::update_state(const Tensor& y_true, const Tensor& y_pred, const Tensor& sample_weight) {
  ensure_state();
  const ConfusionCounts counts = confusion_counts(y_true, y_pred, sample_weight, rule_, dtype());
  true_positives_.assign_add(counts.true_positives);
  false_positives_.assign_add(counts.false_positives);
  true_negatives_.assign_add(counts.true_negatives);
  false_negatives_.assign_add(counts.false_negatives);
}

Tensor AtConstraintMetric::result() {
  ensure_state();
  const auto [constrained, best] = rates({true_positives_, false_positives_, true_negatives_, false_negatives_});
  return ops::maximum(ops::max(ops::where(constrained >= value_, best, 0.0)), 0.0);
}

namespace {

Tensor sensitivity(const ConfusionCounts& counts) {
  return ops::divide_no_nan(counts.true_positives, counts.true_positives + counts.false_negatives);
}
Tensor specificity(const ConfusionCounts& counts) {
  return ops::divide_no_nan(counts.true_negatives, counts.true_negatives + counts.false_positives);
}
Tensor precision(const ConfusionCounts& counts) {
  return ops::divide_no_nan(counts.true_positives, counts.true_positives + counts.false_positives);
}

}  // namespace

AtConstraintMetric::Rates SensitivityAtSpecificityMetric::rates(const ConfusionCounts& counts) const {
  return {specificity(counts), sensitivity(counts)};
}
AtConstraintMetric::Rates SpecificityAtSensitivityMetric::rates(const ConfusionCounts& counts) const {
  return {sensitivity(counts), specificity(counts)};
}
AtConstraintMetric::Rates PrecisionAtRecallMetric::rates(const ConfusionCounts& counts) const {
  return {sensitivity(counts), precision(counts)};
}
AtConstraintMetric::Rates RecallAtPrecisionMetric::rates(const ConfusionCounts& counts) const {
  return {precision(counts), sensitivity(counts)};
}

COHORT_REGISTER(Metric, SensitivityAtSpecificityMetric, "SensitivityAtSpecificity");
COHORT_REGISTER(Metric, SpecificityAtSensitivityMetric, "SpecificityAtSensitivity");
COHORT_REGISTER(Metric, PrecisionAtRecallMetric, "PrecisionAtRecall");
COHORT_REGISTER(Metric, RecallAtPrecisionMetric, "RecallAtPrecision");

}  // namespace cohort::metrics
