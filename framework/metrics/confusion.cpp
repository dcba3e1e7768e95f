#include "cohort/metrics/confusion.h"

#include <cmath>
#include <tuple>

#include "cohort/losses/loss.h"
#include "cohort/ops/array.h"
#include "cohort/ops/broadcast.h"
#include "cohort/ops/creation.h"
#include "cohort/ops/cumulative.h"
#include "cohort/ops/indexing.h"
#include "cohort/ops/math.h"
#include "cohort/ops/reduce.h"
#include "cohort/ops/slicing.h"
#include "cohort/ops/sorting.h"

namespace cohort::metrics {
namespace {

constexpr double kLowest = -1e10;  // Keras's score of what is not among the top k

Tensor keep_top_k(const Tensor& scores, std::int64_t k) {
  const Tensor places = ops::top_k(scores, k).indices;
  const Tensor kept = ops::sum(ops::one_hot(places, scores.shape().back(), -1, scores.dtype()), -2);
  return scores * kept + kLowest * (1.0 - kept);
}

Tensor only_class(const Tensor& x, std::int64_t class_id) {
  return ops::expand_dims(ops::take_at(x, class_id, -1), -1);
}

// Labels, predictions and weights (undefined: all one) of one shape: (n), or (n, labels).
struct Batch {
  Tensor labels, predictions, weights;
};

Batch line_up(const Tensor& y_true, const Tensor& y_pred, const Tensor& sample_weight, const ConfusionRule& rule,
              DType dtype) {
  auto [predictions, labels] = squeeze_or_expand_to_same_rank(ops::cast(y_pred, dtype), ops::cast(y_true, dtype));
  Tensor weights;
  if (sample_weight.defined()) {
    weights = ops::expand_dims(ops::cast(sample_weight, dtype), -1);
    if (weights.rank() == labels.rank() + 1) weights = ops::squeeze(weights, {-1});
  }
  if (rule.top_k) predictions = keep_top_k(predictions, *rule.top_k);
  if (rule.class_id) {
    if (predictions.rank() == 1) {
      throw invalid_argument("class_id", "predictions must be (samples, classes)", {{"y_pred.shape", y_pred.shape()}});
    }
    labels = only_class(labels, *rule.class_id);
    predictions = only_class(predictions, *rule.class_id);
  }
  if (!labels.shape().compatible(predictions.shape())) {
    throw invalid_argument("confusion_counts", "y_true and y_pred must have the same shape",
                           {{"y_true.shape", y_true.shape()}, {"y_pred.shape", y_pred.shape()}});
  }
  if (weights.defined()) weights = ops::broadcast_like(weights, predictions);
  if (rule.label_weights.defined()) {
    const Tensor by_label = ops::broadcast_like(ops::cast(rule.label_weights, dtype), predictions);
    weights = weights.defined() ? weights * by_label : by_label;
  }
  labels = ops::cast(ops::cast(labels, DType::Bool), dtype);
  if (rule.multi_label) return {labels, predictions, weights};
  return {ops::reshape(labels, {-1}), ops::reshape(predictions, {-1}),
          weights.defined() ? ops::reshape(weights, {-1}) : weights};
}

// For each threshold the sum of the weights whose prediction is above it. A prediction in ((k - 1) / (n - 1), k / (n -
// 1)] falls into bucket k and is above the first k thresholds.
Tensor above_even(const Tensor& weights, const Tensor& bucket, std::int64_t thresholds) {
  Tensor place = bucket;
  std::int64_t labels = 1;
  if (bucket.rank() == 2) {
    labels = bucket.shape().back();
    place = bucket * static_cast<double>(labels) + ops::arange(labels);
  }
  const Tensor empty = ops::zeros({thresholds * labels}, weights.dtype());
  Tensor counts = ops::scatter_add_like(empty, ops::reshape(place, {-1}), ops::reshape(weights, {-1}));
  if (bucket.rank() == 2) counts = ops::reshape(counts, {thresholds, labels});
  return ops::cumsum(counts, 0, {.exclusive = true, .reverse = true});
}

ConfusionCounts count_even(const Batch& batch, const ConfusionRule& rule) {
  const auto thresholds = static_cast<std::int64_t>(rule.thresholds.size());
  const Tensor share = ops::clip(batch.predictions, 0.0, 1.0);
  Tensor bucket = ops::ceil(share * static_cast<double>(thresholds - 1));
  // Where the first threshold lies a little below zero, a prediction of zero is above it.
  if (rule.thresholds.front() < 0.0 || rule.thresholds.back() > 1.0) bucket = ops::maximum(bucket, 1.0);
  bucket = ops::cast(ops::where(ops::is_nan(share), 0.0, bucket), DType::Int32);
  Tensor positive = batch.labels, negative = 1.0 - batch.labels;
  if (batch.weights.defined()) {
    positive = positive * batch.weights;
    negative = negative * batch.weights;
  }
  const Tensor true_positives = above_even(positive, bucket, thresholds);
  const Tensor false_positives = above_even(negative, bucket, thresholds);
  return {true_positives, false_positives, ops::sum(negative, 0) - false_positives,
          ops::sum(positive, 0) - true_positives};
}

ConfusionCounts count_each(const Batch& batch, const ConfusionRule& rule, DType dtype) {
  const auto count = static_cast<std::int64_t>(rule.thresholds.size());
  Shape column = {count, 1};
  if (rule.multi_label) column = {count, 1, 1};
  const Tensor thresholds = ops::cast(Tensor::of(rule.thresholds, column), dtype);
  const Tensor above = ops::cast(ops::expand_dims(batch.predictions, 0) > thresholds, dtype), below = 1.0 - above;
  Tensor positive = batch.labels, negative = 1.0 - batch.labels;
  if (batch.weights.defined()) {
    positive = positive * batch.weights;
    negative = negative * batch.weights;
  }
  const auto total = [](const Tensor& predicted, const Tensor& weights) {
    return ops::sum(predicted * ops::expand_dims(weights, 0), 1);
  };
  return {total(above, positive), total(above, negative), total(below, negative), total(below, positive)};
}

}  // namespace

ConfusionCounts confusion_counts(const Tensor& y_true, const Tensor& y_pred, const Tensor& sample_weight,
                                 const ConfusionRule& rule, DType dtype) {
  const Batch batch = line_up(y_true, y_pred, sample_weight, rule, dtype);
  return rule.evenly_spread ? count_even(batch, rule) : count_each(batch, rule, dtype);
}

std::vector<double> even_thresholds(std::int64_t count) {
  if (count == 1) return {0.5};
  std::vector<double> thresholds = {0.0};
  for (std::int64_t i = 1; i + 1 < count; ++i) {
    thresholds.push_back(static_cast<double>(i) / static_cast<double>(count - 1));
  }
  thresholds.push_back(1.0);
  return thresholds;
}

bool are_evenly_spread(const std::vector<double>& thresholds) {
  if (thresholds.size() < 3) return false;
  const std::vector<double> even = even_thresholds(static_cast<std::int64_t>(thresholds.size()));
  for (std::size_t i = 0; i < even.size(); ++i) {
    if (std::abs(thresholds[i] - even[i]) > 1e-7 + 1e-5 * even[i]) return false;
  }
  return true;
}

void check_thresholds(const std::string& who, const std::vector<double>& thresholds) {
  for (double threshold : thresholds) {
    if (!(threshold >= 0.0 && threshold <= 1.0)) {
      throw invalid_argument(who, "thresholds must lie in [0, 1]", {{"threshold", threshold}});
    }
  }
  if (thresholds.empty()) throw invalid_argument(who, "at least one threshold is expected");
}

Tensor single_or_all(const Tensor& counts, std::size_t thresholds) {
  return thresholds == 1 ? ops::take_at(counts, 0) : counts;
}

}  // namespace cohort::metrics
