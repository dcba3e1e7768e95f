#pragma once

#include <functional>

#include "cohort/metrics/mean.h"

namespace cohort::metrics {

// What is averaged: a figure per sample from labels and predictions.
using MetricFunction = std::function<Tensor(const Tensor& y_true, const Tensor& y_pred)>;

class FunctionMetric : public MeanMetricWrapper {
 public:
  explicit FunctionMetric(MetricFunction function, MetricOptions options = {});
  std::string class_name() const override { return "MeanMetricWrapper"; }
  std::string module_name() const override { return kModule; }
  Tensor values(const Tensor& y_true, const Tensor& y_pred) override;

 private:
  MetricFunction function_;
};

// Mean of what a function gives for labels and predictions, for a metric without a class of its own:
// MeanOf([](const Tensor& y, const Tensor& p) { return ops::abs(y - p); }, {.name = "distance"}).
// y_true and y_pred of any shape that the function takes; the result is a scalar.
//   function: gives a value for each sample, (batch, ...), from y_true and y_pred.
struct MeanOf : Metric::Handle<FunctionMetric> {
  explicit MeanOf(MetricFunction function, MetricOptions options = {});
};

}  // namespace cohort::metrics
