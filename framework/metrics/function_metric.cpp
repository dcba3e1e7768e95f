#include "cohort/metrics/function_metric.h"

#include "cohort/core/text.h"

namespace cohort::metrics {

FunctionMetric::FunctionMetric(MetricFunction function, MetricOptions options)
    : MeanMetricWrapper(named(std::move(options), "mean_metric_wrapper")), function_(std::move(function)) {
  if (!function_) throw invalid_argument(titled("Metric", name()), "a function of y_true and y_pred is expected");
}

Tensor FunctionMetric::values(const Tensor& y_true, const Tensor& y_pred) { return function_(y_true, y_pred); }

MeanOf::MeanOf(MetricFunction function, MetricOptions options)
    : Handle(std::make_shared<FunctionMetric>(std::move(function), std::move(options))) {}

}  // namespace cohort::metrics
