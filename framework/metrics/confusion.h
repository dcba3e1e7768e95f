#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cohort/core/tensor.h"
#include "cohort/metrics/metric.h"

namespace cohort::metrics {

// What is counted at which thresholds.
struct ConfusionRule {
  std::vector<double> thresholds;
  bool evenly_spread = false;  // thresholds are 0, 1 / (n - 1), ..., 1: a prediction's place is computed, not searched
  std::optional<std::int64_t> top_k = std::nullopt;
  std::optional<std::int64_t> class_id = std::nullopt;
  bool multi_label = false;   // counts apart for each label: (thresholds, labels)
  Tensor label_weights = {};  // (labels); not with multi_label
};

// Weights of what a prediction above each threshold gets right and wrong: (thresholds), or (thresholds, labels).
struct ConfusionCounts {
  Tensor true_positives, false_positives, true_negatives, false_negatives;
};

// Counts a batch as Keras does: predictions and labels of one shape, weights by sample or by prediction.
ConfusionCounts confusion_counts(const Tensor& y_true, const Tensor& y_pred, const Tensor& sample_weight,
                                 const ConfusionRule& rule, DType dtype);

// 0, 1 / (count - 1), ..., 1; 0.5 when there is one.
std::vector<double> even_thresholds(std::int64_t count);
// True when the thresholds are those, three at least.
bool are_evenly_spread(const std::vector<double>& thresholds);
// Throws unless all lie in [0, 1].
void check_thresholds(const std::string& who, const std::vector<double>& thresholds);
// Element 0 of counts at one threshold, else all of them.
Tensor single_or_all(const Tensor& counts, std::size_t thresholds);

}  // namespace cohort::metrics
