#pragma once

#include "cohort/metrics/mean.h"
#include "cohort/ops/axes_codec.h"

namespace cohort::metrics {

// The options of PearsonCorrelation and ConcordanceCorrelation.
struct CorrelationOptions {
  std::string name = {};
  DType dtype = DType::Float32;
  // Axis along which labels and predictions are correlated, or a list of several.
  ops::Axes axis = -1;
};
COHORT_FIELDS(CorrelationOptions, axis)

// Pearson's correlation of y_true and y_pred (batch, ..., size) along `axis`: (batch, ...).
Tensor pearson_correlation(const Tensor& y_true, const Tensor& y_pred, const ops::Axes& axis = -1);
// Lin's concordance correlation of the same, as Keras defines it.
Tensor concordance_correlation(const Tensor& y_true, const Tensor& y_pred, const ops::Axes& axis = -1);

class PearsonCorrelationMetric : public MeanMetricWrapper {
 public:
  explicit PearsonCorrelationMetric(CorrelationOptions options = {});
  void visit_fields(FieldVisitor& visitor) override;
  Tensor values(const Tensor& y_true, const Tensor& y_pred) override;

 private:
  CorrelationOptions options_;
};

class ConcordanceCorrelationMetric : public MeanMetricWrapper {
 public:
  explicit ConcordanceCorrelationMetric(CorrelationOptions options = {});
  void visit_fields(FieldVisitor& visitor) override;
  Tensor values(const Tensor& y_true, const Tensor& y_pred) override;

 private:
  CorrelationOptions options_;
};

// Mean over all samples of Pearson's correlation of labels and predictions, in [-1, 1].
// y_true and y_pred (batch, ..., size), correlated along `axis`; the result is a scalar.
struct PearsonCorrelation : Metric::Handle<PearsonCorrelationMetric> {
  explicit PearsonCorrelation(CorrelationOptions options = {});
};

// Mean over all samples of Lin's concordance correlation: how close predictions and labels lie to the line of equality.
// y_true and y_pred (batch, ..., size), correlated along `axis`; the result is a scalar.
struct ConcordanceCorrelation : Metric::Handle<ConcordanceCorrelationMetric> {
  explicit ConcordanceCorrelation(CorrelationOptions options = {});
};

}  // namespace cohort::metrics
