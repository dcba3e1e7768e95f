#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "cohort/metrics/confusion.h"

namespace cohort::metrics {

struct AUCOptions {
  std::int64_t num_thresholds = 200;
  std::string curve = "ROC";                       // "ROC", "PR", "PRGAIN"
  std::string summation_method = "interpolation";  // "interpolation", "minoring", "majoring"
  std::string name = {};
  DType dtype = DType::Float32;
  std::optional<std::vector<double>> thresholds = std::nullopt;  // between 0 and 1, which are added
  bool multi_label = false;                                      // the mean of the areas of each label
  std::optional<std::int64_t> num_labels = std::nullopt;
  std::optional<std::vector<double>> label_weights = std::nullopt;
  bool from_logits = false;
};

// The area under the ROC or precision-recall curve, from counts at fixed thresholds.
class AUCMetric : public Metric {
 public:
  explicit AUCMetric(AUCOptions options = {});
  std::string class_name() const override { return "AUC"; }
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

struct AUC : Metric::Handle<AUCMetric> {
  explicit AUC(AUCOptions options = {}) : Handle(std::make_shared<AUCMetric>(std::move(options))) {}
};

}  // namespace cohort::metrics
