#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "cohort/metrics/confusion.h"

namespace cohort::metrics {

struct AUCOptions {
  // Number of thresholds, evenly spread over [0, 1] and at least 2, at which the curve is computed; ignored with
  // `thresholds`.
  std::int64_t num_thresholds = 200;
  // 'ROC': true over false positive rate; 'PR': precision over recall; 'PRGAIN': precision gain over recall gain.
  std::string curve = "ROC";
  // How the area between two thresholds is computed: 'interpolation' between the ends, 'minoring' with the lower and
  // 'majoring' with the higher end.
  std::string summation_method = "interpolation";
  std::string name = {};
  DType dtype = DType::Float32;
  // Thresholds between 0 and 1, which are added. None: num_thresholds of them.
  std::optional<std::vector<double>> thresholds = std::nullopt;
  // Whether y_true and y_pred are (samples, labels) with a curve for each label, of whose areas the mean is taken.
  bool multi_label = false;
  // Number of labels; with multi_label only, and needed only for a result before the first update.
  std::optional<std::int64_t> num_labels = std::nullopt;
  // A weight for each label: with multi_label of its area, otherwise of its predictions along the last axis. None: all
  // equal.
  std::optional<std::vector<double>> label_weights = std::nullopt;
  bool from_logits = false;
};
COHORT_FIELDS(AUCOptions, num_thresholds, curve, summation_method, multi_label, num_labels, label_weights, from_logits)

class AUCMetric : public Metric {
 public:
  explicit AUCMetric(AUCOptions options = {});
  void visit_fields(FieldVisitor& visitor) override;
  void fields_changed() override;
  void update_state(const Tensor& y_true, const Tensor& y_pred, const Tensor& sample_weight = {}) override;
  Tensor result() override;

 private:
  void ensure_state(std::int64_t num_labels);
  // (thresholds) or (thresholds, labels) -> a scalar: terms summed over the intervals, labels averaged.
  Tensor total(const Tensor& terms) const;
  Tensor label_weights() const;
  Tensor interpolated_pr_area() const;

  AUCOptions options_;
  ConfusionRule rule_;
  Variable true_positives_, false_positives_, true_negatives_, false_negatives_;
};

// Area under the ROC or precision-recall curve, approximated at fixed thresholds.
// y_true of 0 and 1 and y_pred in [0, 1], of one shape (batch, ...), or (samples, labels) with multi_label; the result
// is a scalar.
struct AUC : Metric::Handle<AUCMetric> {
  explicit AUC(AUCOptions options = {});
};

}  // namespace cohort::metrics
