#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "cohort/metrics/confusion.h"

namespace cohort::metrics {

// The options of Precision and Recall.
struct PrecisionRecallOptions {
  // One or several thresholds in [0, 1]; predictions above one count as positive. None: 0.5, or with top_k all that are
  // among the k.
  std::optional<std::vector<double>> thresholds = std::nullopt;
  // Only the k greatest predictions along the last axis can be positive. None: all.
  std::optional<std::int64_t> top_k = std::nullopt;
  // Only this index of the last axis counts. None: all.
  std::optional<std::int64_t> class_id = std::nullopt;
  std::string name = {};
  DType dtype = DType::Float32;
};
COHORT_FIELDS(PrecisionRecallOptions, thresholds, top_k, class_id)

// true_positives / (true_positives + errors), at each threshold: what precision and recall have in common.
class PrecisionRecallMetric : public Metric {
 public:
  PrecisionRecallMetric(PrecisionRecallOptions options, const char* default_name, const char* error_name);
  void visit_fields(FieldVisitor& visitor) override;
  void fields_changed() override;
  void update_state(const Tensor& y_true, const Tensor& y_pred, const Tensor& sample_weight = {}) override;
  Tensor result() override;

 protected:
  // The errors that count against the true positives.
  virtual const Tensor& errors(const ConfusionCounts& counts) const = 0;

 private:
  void ensure_state();
  PrecisionRecallOptions options_;
  const char* error_name_;
  ConfusionRule rule_;
  Variable true_positives_, errors_;
};

class PrecisionMetric : public PrecisionRecallMetric {
 public:
  explicit PrecisionMetric(PrecisionRecallOptions options = {})
      : PrecisionRecallMetric(std::move(options), "precision", "false_positives") {}

 protected:
  const Tensor& errors(const ConfusionCounts& counts) const override { return counts.false_positives; }
};

class RecallMetric : public PrecisionRecallMetric {
 public:
  explicit RecallMetric(PrecisionRecallOptions options = {})
      : PrecisionRecallMetric(std::move(options), "recall", "false_negatives") {}

 protected:
  const Tensor& errors(const ConfusionCounts& counts) const override { return counts.false_negatives; }
};

// Fraction of the predicted positives that are right: true positives / (true positives + false positives).
// y_true of 0 and 1 and y_pred in [0, 1], of one shape (batch, ...), with the classes last for top_k and class_id; the
// result is a scalar, or (thresholds) where there are several.
struct Precision : Metric::Handle<PrecisionMetric> {
  explicit Precision(PrecisionRecallOptions options = {});
};

// Fraction of the positive labels that are found: true positives / (true positives + false negatives).
// y_true of 0 and 1 and y_pred in [0, 1], of one shape (batch, ...), with the classes last for top_k and class_id; the
// result is a scalar, or (thresholds) where there are several.
struct Recall : Metric::Handle<RecallMetric> {
  explicit Recall(PrecisionRecallOptions options = {});
};

}  // namespace cohort::metrics
