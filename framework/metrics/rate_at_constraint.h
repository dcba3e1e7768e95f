#pragma once

#include <cstdint>
#include <optional>

#include "cohort/metrics/confusion.h"

namespace cohort::metrics {

// The options of SensitivityAtSpecificity, SpecificityAtSensitivity, PrecisionAtRecall and RecallAtPrecision.
struct AtConstraintOptions {
  // Number of thresholds, evenly spread over [0, 1], at which the rates are computed; 1 means the threshold 0.5.
  std::int64_t num_thresholds = 200;
  std::optional<std::int64_t> class_id = std::nullopt;
  std::string name = {};
  DType dtype = DType::Float32;
};
COHORT_FIELDS(AtConstraintOptions, num_thresholds, class_id)

// The best of one rate over all thresholds at which another is at least a given value.
class AtConstraintMetric : public Metric {
 public:
  AtConstraintMetric(double value, AtConstraintOptions options, const char* default_name, const char* value_name);
  void visit_fields(FieldVisitor& visitor) override;
  void fields_changed() override;
  void update_state(const Tensor& y_true, const Tensor& y_pred, const Tensor& sample_weight = {}) override;
  Tensor result() override;

 protected:
  struct Rates {
    Tensor constrained, best;
  };
  virtual Rates rates(const ConfusionCounts& counts) const = 0;

 private:
  void ensure_state();
  double value_;
  AtConstraintOptions options_;
  const char* value_name_;
  ConfusionRule rule_;
  Variable true_positives_, false_positives_, true_negatives_, false_negatives_;
};

#define COHORT_AT_CONSTRAINT(Class, value, keras_name)                           \
  class Class##Metric : public AtConstraintMetric {                              \
   public:                                                                       \
    explicit Class##Metric(double value = 0.5, AtConstraintOptions options = {}) \
        : AtConstraintMetric(value, std::move(options), keras_name, #value) {}   \
                                                                                 \
   protected:                                                                    \
    Rates rates(const ConfusionCounts& counts) const override;                   \
  };                                                                             \
  struct Class : Metric::Handle<Class##Metric> {                                 \
    explicit Class(double value, AtConstraintOptions options = {})               \
        : Handle(std::make_shared<Class##Metric>(value, std::move(options))) {}  \
  };

// Best sensitivity over all thresholds at which the specificity is at least a given value; 0 where there is none.
// y_true of 0 and 1 and y_pred in [0, 1], of one shape (batch, ...); the result is a scalar.
//   specificity: the least specificity, true negatives / all negatives, in [0, 1].
COHORT_AT_CONSTRAINT(SensitivityAtSpecificity, specificity, "sensitivity_at_specificity")

// Best specificity over all thresholds at which the sensitivity is at least a given value; 0 where there is none.
// y_true of 0 and 1 and y_pred in [0, 1], of one shape (batch, ...); the result is a scalar.
//   sensitivity: the least sensitivity, true positives / all positives, in [0, 1].
COHORT_AT_CONSTRAINT(SpecificityAtSensitivity, sensitivity, "specificity_at_sensitivity")

// Best precision over all thresholds at which the recall is at least a given value; 0 where there is none.
// y_true of 0 and 1 and y_pred in [0, 1], of one shape (batch, ...); the result is a scalar.
//   recall: the least recall, true positives / all positives, in [0, 1].
COHORT_AT_CONSTRAINT(PrecisionAtRecall, recall, "precision_at_recall")

// Best recall over all thresholds at which the precision is at least a given value; 0 where there is none.
// y_true of 0 and 1 and y_pred in [0, 1], of one shape (batch, ...); the result is a scalar.
//   precision: the least precision, true positives / predicted positives, in [0, 1].
COHORT_AT_CONSTRAINT(RecallAtPrecision, precision, "recall_at_precision")

#undef COHORT_AT_CONSTRAINT

}  // namespace cohort::metrics
