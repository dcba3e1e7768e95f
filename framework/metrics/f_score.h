#pragma once

#include <optional>

#include "cohort/metrics/metric.h"

namespace cohort::metrics {

struct FBetaScoreOptions {
  std::optional<std::string> average = std::nullopt;  // "micro", "macro", "weighted"; left out: one score per class
  double beta = 1.0;
  std::optional<double> threshold = std::nullopt;  // left out: only the largest prediction is positive
  std::string name = {};
  DType dtype = DType::Float32;
};

// The weighted harmonic mean of precision and recall over labels and predictions (batch, classes).
class FBetaScoreMetric : public Metric {
 public:
  explicit FBetaScoreMetric(FBetaScoreOptions options = {}, const char* default_name = "fbeta_score");
  std::string class_name() const override { return "FBetaScore"; }
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
  std::optional<std::string> average = std::nullopt;
  std::optional<double> threshold = std::nullopt;
  std::string name = {};
  DType dtype = DType::Float32;
};

// FBetaScore with beta = 1.
class F1ScoreMetric : public FBetaScoreMetric {
 public:
  explicit F1ScoreMetric(F1ScoreOptions options = {});
  std::string class_name() const override { return "F1Score"; }
  void visit_fields(FieldVisitor& visitor) override;
};

struct FBetaScore : Metric::Handle<FBetaScoreMetric> {
  explicit FBetaScore(FBetaScoreOptions options = {})
      : Handle(std::make_shared<FBetaScoreMetric>(std::move(options))) {}
};
struct F1Score : Metric::Handle<F1ScoreMetric> {
  explicit F1Score(F1ScoreOptions options = {}) : Handle(std::make_shared<F1ScoreMetric>(std::move(options))) {}
};

}  // namespace cohort::metrics
