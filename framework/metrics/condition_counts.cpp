#include "cohort/metrics/condition_counts.h"

#include "cohort/core/text.h"

namespace cohort::metrics {

ConditionCountMetric::ConditionCountMetric(ConditionCountOptions options, const char* default_name)
    : Metric(options.name.empty() ? default_name : options.name, options.dtype), options_(std::move(options)) {
  ConditionCountMetric::fields_changed();
}

void ConditionCountMetric::visit_fields(FieldVisitor& visitor) {
  Metric::visit_fields(visitor);
  visit_options(options_, visitor);
}

void ConditionCountMetric::fields_changed() {
  rule_.thresholds = options_.thresholds.value_or(std::vector<double>{0.5});
  check_thresholds(titled("Metric", name()), rule_.thresholds);
  rule_.evenly_spread = are_evenly_spread(rule_.thresholds);
}

void ConditionCountMetric::ensure_state() {
  if (accumulator_.defined()) return;
  accumulator_ = add_variable("accumulator", {static_cast<std::int64_t>(rule_.thresholds.size())});
}

void ConditionCountMetric::update_state(const Tensor& y_true, const Tensor& y_pred, const Tensor& sample_weight) {
  ensure_state();
  accumulator_.assign_add(pick(confusion_counts(y_true, y_pred, sample_weight, rule_, dtype())));
}

Tensor ConditionCountMetric::result() {
  ensure_state();
  return single_or_all(accumulator_, rule_.thresholds.size());
}

COHORT_REGISTER(Metric, TruePositivesMetric, "TruePositives", "true_positives");
COHORT_REGISTER(Metric, FalsePositivesMetric, "FalsePositives", "false_positives");
COHORT_REGISTER(Metric, TrueNegativesMetric, "TrueNegatives", "true_negatives");
COHORT_REGISTER(Metric, FalseNegativesMetric, "FalseNegatives", "false_negatives");

}  // namespace cohort::metrics
