#pragma once

#include "cohort/metrics/mean.h"
#include "cohort/ops/reduce.h"

namespace cohort::metrics {

struct CorrelationOptions {
  std::string name = {};
  DType dtype = DType::Float32;
  ops::Axes axis = -1;  // one or several
};

// Pearson's correlation of labels and predictions along `axis`.
Tensor pearson_correlation(const Tensor& y_true, const Tensor& y_pred, const ops::Axes& axis = -1);
// Lin's concordance correlation, as Keras defines it: how far predictions and labels lie on the line of equality.
Tensor concordance_correlation(const Tensor& y_true, const Tensor& y_pred, const ops::Axes& axis = -1);

// The mean of Pearson's correlation.
class PearsonCorrelationMetric : public MeanMetricWrapper {
 public:
  explicit PearsonCorrelationMetric(CorrelationOptions options = {});
  std::string class_name() const override { return "PearsonCorrelation"; }
  void visit_fields(FieldVisitor& visitor) override;
  Tensor values(const Tensor& y_true, const Tensor& y_pred) override;

 private:
  ops::Axes axis_;
};

// The mean of the concordance correlation.
class ConcordanceCorrelationMetric : public MeanMetricWrapper {
 public:
  explicit ConcordanceCorrelationMetric(CorrelationOptions options = {});
  std::string class_name() const override { return "ConcordanceCorrelation"; }
  void visit_fields(FieldVisitor& visitor) override;
  Tensor values(const Tensor& y_true, const Tensor& y_pred) override;

 private:
  ops::Axes axis_;
};

struct PearsonCorrelation : Metric::Handle<PearsonCorrelationMetric> {
  explicit PearsonCorrelation(CorrelationOptions options = {})
      : Handle(std::make_shared<PearsonCorrelationMetric>(std::move(options))) {}
};
struct ConcordanceCorrelation : Metric::Handle<ConcordanceCorrelationMetric> {
  explicit ConcordanceCorrelation(CorrelationOptions options = {})
      : Handle(std::make_shared<ConcordanceCorrelationMetric>(std::move(options))) {}
};

}  // namespace cohort::metrics
