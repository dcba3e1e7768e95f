#include "cohort/metrics/auc.h"

#include <algorithm>

#include "cohort/core/text.h"
#include "cohort/losses/loss.h"
#include "cohort/ops/creation.h"
#include "cohort/ops/epsilon.h"
#include "cohort/ops/functions.h"
#include "cohort/ops/math.h"
#include "cohort/ops/reduce.h"
#include "cohort/ops/slicing.h"

namespace cohort::metrics {
namespace {

// All thresholds but the last, and all but the first: the two ends of every interval.
Tensor without_last(const Tensor& x) { return ops::strided_slice(x, {{.end = -1}}); }
Tensor without_first(const Tensor& x) { return ops::strided_slice(x, {{.begin = 1}}); }

// Keras also takes "Interpolation", "pr" and the like.
std::string spelled(const std::string& who, const char* option, const std::string& given,
                    std::initializer_list<std::pair<const char*, const char*>> known) {
  for (const auto& [name, other] : known) {
    if (given == name || given == other) return name;
  }
  const std::string names = join(known, [](const auto& each) { return in_quotes(each.first); });
  throw invalid_argument(who, std::string(option) + " must be one of " + names, {{option, in_quotes(given)}});
}

}  // namespace

AUCMetric::AUCMetric(AUCOptions options)
    : Metric(options.name.empty() ? "auc" : options.name, options.dtype), options_(std::move(options)) {
  AUCMetric::fields_changed();
}

void AUCMetric::visit_fields(FieldVisitor& visitor) {
  Metric::visit_fields(visitor);
  visit_options(options_, visitor);
  // Keras writes thresholds only where they were given.
  if (visitor.reads_config() || options_.thresholds) visitor.field("thresholds", options_.thresholds);
}

void AUCMetric::fields_changed() {
  const std::string who = titled("Metric", name());
  options_.curve = spelled(who, "curve", options_.curve, {{"ROC", "roc"}, {"PR", "pr"}, {"PRGAIN", "prgain"}});
  options_.summation_method =
      spelled(who, "summation_method", options_.summation_method,
              {{"interpolation", "Interpolation"}, {"majoring", "Majoring"}, {"minoring", "Minoring"}});
  if (!options_.multi_label && options_.num_labels) {
    throw invalid_argument(who, "num_labels is needed only with multi_label", {{"num_labels", *options_.num_labels}});
  }
  rule_ = {};
  if (options_.thresholds) {
    std::sort(options_.thresholds->begin(), options_.thresholds->end());
    options_.num_thresholds = static_cast<std::int64_t>(options_.thresholds->size()) + 2;
    rule_.thresholds = {0.0};
    rule_.thresholds.insert(rule_.thresholds.end(), options_.thresholds->begin(), options_.thresholds->end());
    rule_.thresholds.push_back(1.0);
    rule_.evenly_spread = are_evenly_spread(rule_.thresholds);
  } else {
    if (options_.num_thresholds < 2) {
      throw invalid_argument(who, "num_thresholds must be at least 2", {{"num_thresholds", options_.num_thresholds}});
    }
    rule_.thresholds = even_thresholds(options_.num_thresholds);
    rule_.evenly_spread = true;
  }
  // The curve begins and ends where everything, or nothing, is positive.
  rule_.thresholds.front() = -kEpsilon;
  rule_.thresholds.back() = 1.0 + kEpsilon;
  rule_.multi_label = options_.multi_label;
}

Tensor AUCMetric::label_weights() const {
  const std::vector<double>& weights = *options_.label_weights;
  return ops::cast(Tensor::of(weights, {static_cast<std::int64_t>(weights.size())}), dtype());
}

void AUCMetric::ensure_state(std::int64_t num_labels) {
  if (true_positives_.defined()) return;
  Shape shape = {options_.num_thresholds};
  if (options_.multi_label) shape.push_back(num_labels);
  true_positives_ = add_variable("true_positives", shape);
  false_positives_ = add_variable("false_positives", shape);
  true_negatives_ = add_variable("true_negatives", shape);
  false_negatives_ = add_variable("false_negatives", shape);
}

void AUCMetric::update_state(const Tensor& y_true, const Tensor& y_pred, const Tensor& sample_weight) {
  if (options_.multi_label && y_pred.rank() != 2) {
    throw invalid_argument(titled("Metric", name()), "y_pred must be (samples, labels) with multi_label",
                           {{"y_pred.shape", y_pred.shape()}});
  }
  ensure_state(options_.num_labels.value_or(options_.multi_label ? y_pred.shape().back() : 0));
  if (!options_.multi_label && options_.label_weights) rule_.label_weights = label_weights();
  const Tensor predictions = options_.from_logits ? ops::sigmoid(ops::cast(y_pred, dtype())) : y_pred;
  const ConfusionCounts counts = confusion_counts(y_true, predictions, sample_weight, rule_, dtype());
  true_positives_.assign_add(counts.true_positives);
  false_positives_.assign_add(counts.false_positives);
  true_negatives_.assign_add(counts.true_negatives);
  false_negatives_.assign_add(counts.false_negatives);
}

Tensor AUCMetric::total(const Tensor& terms) const {
  if (!options_.multi_label) return ops::sum(terms);
  const Tensor by_label = ops::sum(terms, 0);
  if (!options_.label_weights) return ops::mean(by_label);
  const Tensor weights = label_weights();
  return ops::divide_no_nan(ops::sum(by_label * weights), ops::sum(weights));
}

// Precision is not linear between two thresholds: its true positives are.
Tensor AUCMetric::interpolated_pr_area() const {
  const Tensor right = true_positives_, missed = false_negatives_, positives = right + false_positives_.value();
  const Tensor right_above = without_first(right), above = without_first(positives), below = without_last(positives);
  const Tensor more_right = without_last(right) - right_above;
  const Tensor slope = ops::divide_no_nan(more_right, ops::maximum(below - above, 0.0));
  const Tensor intercept = right_above - slope * above;
  const Tensor ratio = ops::where(ops::logical_and(below > 0.0, above > 0.0),
                                  ops::divide_no_nan(below, ops::maximum(above, 0.0)), ops::ones_like(above));
  return total(ops::divide_no_nan(slope * (more_right + intercept * ops::log(ratio)),
                                  ops::maximum(right_above + without_first(missed), 0.0)));
}

Tensor AUCMetric::result() {
  if (options_.multi_label && !true_positives_.defined() && !options_.num_labels) {
    throw failed_precondition(titled("Metric", name()), "a result exists after the first update",
                              {{"multi_label", true}}, "Say num_labels.");
  }
  ensure_state(options_.num_labels.value_or(0));
  if (options_.curve == "PR" && options_.summation_method == "interpolation") return interpolated_pr_area();
  const Tensor tp = true_positives_, fp = false_positives_, tn = true_negatives_, fn = false_negatives_;
  Tensor x, y;
  if (options_.curve == "ROC") {
    x = ops::divide_no_nan(fp, fp + tn);
    y = ops::divide_no_nan(tp, tp + fn);
  } else if (options_.curve == "PR") {
    x = ops::divide_no_nan(tp, tp + fn);
    y = ops::divide_no_nan(tp, tp + fp);
  } else {
    const Tensor odds = ops::divide_no_nan(tp + fn, tn + fp), none = ops::equal(tp, 0.0);
    x = ops::maximum(ops::where(none, 0.0, 1.0 - odds * ops::divide_no_nan(fn, tp)), 0.0);
    y = ops::where(none, 1.0, 1.0 - odds * ops::divide_no_nan(fp, tp));
  }
  const Tensor left = without_last(y), right = without_first(y);
  const Tensor heights = options_.summation_method == "interpolation" ? (left + right) / 2.0
                         : options_.summation_method == "minoring"    ? ops::minimum(left, right)
                                                                      : ops::maximum(left, right);
  return total((without_last(x) - without_first(x)) * heights);
}

COHORT_REGISTER(Metric, AUCMetric, "AUC", "auc");

AUC::AUC(AUCOptions options) : Handle(std::make_shared<AUCMetric>(std::move(options))) {}

}  // namespace cohort::metrics
