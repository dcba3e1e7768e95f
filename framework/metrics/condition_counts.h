#pragma once

#include <optional>
#include <vector>

#include "cohort/metrics/confusion.h"

namespace cohort::metrics {

// The options of TruePositives, FalsePositives, TrueNegatives and FalseNegatives.
struct ConditionCountOptions {
  // One or several thresholds in [0, 1]; predictions above one count as positive. None: 0.5.
  std::optional<std::vector<double>> thresholds = std::nullopt;
  std::string name = {};
  DType dtype = DType::Float32;
};
COHORT_FIELDS(ConditionCountOptions, thresholds)

// The weight of the samples for which a condition holds, at each threshold: a scalar for one of them. What the four
// counts have in common.
class ConditionCountMetric : public Metric {
 public:
  ConditionCountMetric(ConditionCountOptions options, const char* default_name);
  void visit_fields(FieldVisitor& visitor) override;
  void fields_changed() override;
  void update_state(const Tensor& y_true, const Tensor& y_pred, const Tensor& sample_weight = {}) override;
  Tensor result() override;

 protected:
  // The one of the four counts that this metric keeps.
  virtual const Tensor& pick(const ConfusionCounts& counts) const = 0;

 private:
  void ensure_state();
  ConditionCountOptions options_;
  ConfusionRule rule_;
  Variable accumulator_;
};

#define COHORT_CONDITION_COUNT(Class, count, keras_name)                                      \
  class Class##Metric : public ConditionCountMetric {                                         \
   public:                                                                                    \
    explicit Class##Metric(ConditionCountOptions options = {})                                \
        : ConditionCountMetric(std::move(options), keras_name) {}                             \
                                                                                              \
   protected:                                                                                 \
    const Tensor& pick(const ConfusionCounts& counts) const override { return counts.count; } \
  };                                                                                          \
  struct Class : Metric::Handle<Class##Metric> {                                              \
    explicit Class(ConditionCountOptions options = {})                                        \
        : Handle(std::make_shared<Class##Metric>(std::move(options))) {}                      \
  };

// Number of labels 1 that are predicted as positive, or the sum of their weights.
// y_true of 0 and 1 and y_pred in [0, 1], of one shape (batch, ...); the result is a scalar, or (thresholds) where
// there are several.
COHORT_CONDITION_COUNT(TruePositives, true_positives, "true_positives")

// Number of labels 0 that are predicted as positive, or the sum of their weights.
// y_true of 0 and 1 and y_pred in [0, 1], of one shape (batch, ...); the result is a scalar, or (thresholds) where
// there are several.
COHORT_CONDITION_COUNT(FalsePositives, false_positives, "false_positives")

// Number of labels 0 that are predicted as negative, or the sum of their weights.
// y_true of 0 and 1 and y_pred in [0, 1], of one shape (batch, ...); the result is a scalar, or (thresholds) where
// there are several.
COHORT_CONDITION_COUNT(TrueNegatives, true_negatives, "true_negatives")

// Number of labels 1 that are predicted as negative, or the sum of their weights.
// y_true of 0 and 1 and y_pred in [0, 1], of one shape (batch, ...); the result is a scalar, or (thresholds) where
// there are several.
COHORT_CONDITION_COUNT(FalseNegatives, false_negatives, "false_negatives")

#undef COHORT_CONDITION_COUNT

}  // namespace cohort::metrics
