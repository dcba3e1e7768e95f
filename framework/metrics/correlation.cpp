#include "cohort/metrics/correlation.h"

#include "cohort/losses/loss.h"
#include "cohort/ops/epsilon.h"
#include "cohort/ops/math.h"
#include "cohort/ops/reduce.h"

namespace cohort::metrics {
namespace {

Tensor centered(const Tensor& x, const ops::Axes& axis) { return x - ops::mean(x, axis, ops::keep_dims); }

}  // namespace

Tensor pearson_correlation(const Tensor& y_true, const Tensor& y_pred, const ops::Axes& axis) {
  const auto [labels, predictions] = squeeze_or_expand_to_same_rank(ops::cast(y_true, y_pred.dtype()), y_pred);
  const auto standardized = [&axis](const Tensor& x) {
    const Tensor shifted = centered(x, axis);
    return shifted / ops::standard_deviation(shifted, axis, ops::keep_dims);
  };
  return ops::mean(standardized(labels) * standardized(predictions), axis);
}

Tensor concordance_correlation(const Tensor& y_true, const Tensor& y_pred, const ops::Axes& axis) {
  const auto [labels, predictions] = squeeze_or_expand_to_same_rank(ops::cast(y_true, y_pred.dtype()), y_pred);
  const Tensor label_mean = ops::mean(labels, axis, ops::keep_dims);
  const Tensor mean = ops::mean(predictions, axis, ops::keep_dims);
  const Tensor spread = ops::variance(labels - label_mean, axis, ops::keep_dims) +
                        ops::variance(predictions - mean, axis, ops::keep_dims) + ops::square(label_mean - mean);
  // Keras takes the mean of the predictions from both; that of the labels would give the same sum.
  const Tensor product = (labels - mean) * (predictions - mean);
  return ops::mean(2.0 * product / (spread + kEpsilon), axis);
}

PearsonCorrelationMetric::PearsonCorrelationMetric(CorrelationOptions options)
    : MeanMetricWrapper(named({options.name, options.dtype}, "pearson_correlation")), options_(std::move(options)) {}

void PearsonCorrelationMetric::visit_fields(FieldVisitor& visitor) {
  MeanMetricWrapper::visit_fields(visitor);
  visit_options(options_, visitor);
}

Tensor PearsonCorrelationMetric::values(const Tensor& y_true, const Tensor& y_pred) {
  return pearson_correlation(y_true, ops::to_floating(y_pred), options_.axis);
}

ConcordanceCorrelationMetric::ConcordanceCorrelationMetric(CorrelationOptions options)
    : MeanMetricWrapper(named({options.name, options.dtype}, "concordance_correlation")),
      options_(std::move(options)) {}

void ConcordanceCorrelationMetric::visit_fields(FieldVisitor& visitor) {
  MeanMetricWrapper::visit_fields(visitor);
  visit_options(options_, visitor);
}

Tensor ConcordanceCorrelationMetric::values(const Tensor& y_true, const Tensor& y_pred) {
  return concordance_correlation(y_true, ops::to_floating(y_pred), options_.axis);
}

COHORT_REGISTER(Metric, PearsonCorrelationMetric, "PearsonCorrelation", "pearson_correlation");
COHORT_REGISTER(Metric, ConcordanceCorrelationMetric, "ConcordanceCorrelation", "concordance_correlation");

PearsonCorrelation::PearsonCorrelation(CorrelationOptions options)
    : Handle(std::make_shared<PearsonCorrelationMetric>(std::move(options))) {}
ConcordanceCorrelation::ConcordanceCorrelation(CorrelationOptions options)
    : Handle(std::make_shared<ConcordanceCorrelationMetric>(std::move(options))) {}

}  // namespace cohort::metrics
