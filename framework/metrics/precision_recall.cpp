#include "cohort/metrics/precision_recall.h"

#include "cohort/core/text.h"
#include "cohort/losses/loss.h"
#include "cohort/ops/functions.h"
#include "cohort/ops/math.h"

namespace cohort::metrics {
namespace {

constexpr double kNone = -1e10;  // with top_k alone every one of the k is positive, whatever its score

}  // namespace

PrecisionRecallMetric::PrecisionRecallMetric(PrecisionRecallOptions options, const char* default_name,
                                             const char* error_name)
    : Metric(options.name.empty() ? default_name : options.name, options.dtype),
      options_(std::move(options)),
      error_name_(error_name) {
  PrecisionRecallMetric::fields_changed();
}

void PrecisionRecallMetric::visit_fields(FieldVisitor& visitor) {
  Metric::visit_fields(visitor);
  visit_options(options_, visitor);
}

void PrecisionRecallMetric::fields_changed() {
  const std::string who = titled("Metric", name());
  if (options_.thresholds) check_thresholds(who, *options_.thresholds);
  if (options_.top_k && *options_.top_k < 1) {
    throw invalid_argument(who, "top_k must be at least 1", {{"top_k", *options_.top_k}});
  }
  rule_.thresholds = options_.thresholds.value_or(std::vector<double>{options_.top_k ? kNone : 0.5});
  rule_.evenly_spread = are_evenly_spread(rule_.thresholds);
  rule_.top_k = options_.top_k;
  rule_.class_id = options_.class_id;
}

void PrecisionRecallMetric::ensure_state() {
  if (true_positives_.defined()) return;
  const Shape shape = {static_cast<std::int64_t>(rule_.thresholds.size())};
  true_positives_ = add_variable("true_positives", shape);
  errors_ = add_variable(error_name_, shape);
}

void PrecisionRecallMetric::update_state(const Tensor& y_true, const Tensor& y_pred, const Tensor& sample_weight) {
  ensure_state();
  const ConfusionCounts counts = confusion_counts(y_true, y_pred, sample_weight, rule_, dtype());
  true_positives_.assign_add(counts.true_positives);
  errors_.assign_add(errors(counts));
}

Tensor PrecisionRecallMetric::result() {
  ensure_state();
  const Tensor right = true_positives_;
  return single_or_all(ops::divide_no_nan(right, right + errors_.value()), rule_.thresholds.size());
}

COHORT_REGISTER(Metric, PrecisionMetric, "Precision", "precision");
COHORT_REGISTER(Metric, RecallMetric, "Recall", "recall");

Precision::Precision(PrecisionRecallOptions options) : Handle(std::make_shared<PrecisionMetric>(std::move(options))) {}
Recall::Recall(PrecisionRecallOptions options) : Handle(std::make_shared<RecallMetric>(std::move(options))) {}

}  // namespace cohort::metrics
