#pragma once

#include <optional>

#include "cohort/metrics/metric.h"

namespace cohort::metrics {

struct FBetaScoreOptions {
  // How the classes' scores become one: 'micro' counts all classes together, 'macro' takes the mean, 'weighted' weighs
  // it by the labels of each class. None: one score for each class.
  std::optional<std::string> average = std::nullopt;
  // Weight of recall against precision, above 0: 2 counts recall more, 0.5 precision.
  double beta = 1.0;
  // Predictions above it are positive, in (0, 1]. None: the greatest of each sample.
  std::optional<double> threshold = std::nullopt;
  std::string name = {};
  DType dtype = DType::Float32;
};
COHORT_FIELDS(FBetaScoreOptions, average, beta, threshold)

class FBetaScoreMetric : public Metric {
 public:
  explicit FBetaScoreMetric(FBetaScoreOptions options = {}, const char* default_name = "fbeta_score");
  void visit_fields(FieldVisitor& visitor) override;
  void fields_changed() override;
  void update_state(const Tensor& y_true, const Tensor& y_pred, const Tensor& sample_weight = {}) override;
  Tensor result() override;

 protected:
  FBetaScoreOptions options_;

 private:
  void ensure_state(const Tensor& y_true, const Tensor& y_pred);
  Variable true_positives_, false_positives_, false_negatives_, intermediate_weights_;
};

struct F1ScoreOptions {
  // How the classes' scores become one: 'micro' counts all classes together, 'macro' takes the mean, 'weighted' weighs
  // it by the labels of each class. None: one score for each class.
  std::optional<std::string> average = std::nullopt;
  // Predictions above it are positive, in (0, 1]. None: the greatest of each sample.
  std::optional<double> threshold = std::nullopt;
  std::string name = {};
  DType dtype = DType::Float32;
};

class F1ScoreMetric : public FBetaScoreMetric {
 public:
  explicit F1ScoreMetric(F1ScoreOptions options = {});
  void visit_fields(FieldVisitor& visitor) override;
};

// Weighted harmonic mean of precision and recall: (1 + beta^2) * precision * recall / (beta^2 * precision + recall).
// y_true of 0 and 1 and y_pred (batch, classes); the result is a scalar, or (classes) without `average`.
struct FBetaScore : Metric::Handle<FBetaScoreMetric> {
  explicit FBetaScore(FBetaScoreOptions options = {});
};

// Harmonic mean of precision and recall: 2 * precision * recall / (precision + recall).
// y_true of 0 and 1 and y_pred (batch, classes); the result is a scalar, or (classes) without `average`.
struct F1Score : Metric::Handle<F1ScoreMetric> {
  explicit F1Score(F1ScoreOptions options = {});
};

}  // namespace cohort::metrics
