#include "cohort/metrics/mean.h"

#include "cohort/core/masks.h"
#include "cohort/losses/loss.h"
#include "cohort/metrics/samplewise_values.h"
#include "cohort/ops/broadcast.h"
#include "cohort/ops/functions.h"

namespace cohort::metrics {

MeanMetric::MeanMetric(MetricOptions options)
    : Metric(options.name.empty() ? "mean" : options.name, options.dtype),
      total_(add_variable("total", {})),
      count_(add_variable("count", {})) {}

void MeanMetric::update_values(const Tensor& given_values, const Tensor& sample_weight) {
  const auto [values, weights] = reduce_to_samplewise_values(given_values, sample_weight, ops::mean, dtype());
  total_.assign_add(ops::sum(values));
  if (weights.defined()) {
    count_.assign_add(ops::sum(weights));
  } else {
    count_.assign_add(values.rank() == 0 ? Tensor::scalar(1.0, dtype()) : ops::size_of(values, {0}, dtype()));
  }
}

void MeanMetric::update_state(const Tensor& values, const Tensor& weight_if_second, const Tensor& sample_weight) {
  update_values(values, sample_weight.defined() ? sample_weight : weight_if_second);
}

Tensor MeanMetric::result() { return ops::divide_no_nan(total_, count_); }

void MeanMetricWrapper::update_state(const Tensor& y_true, const Tensor& y_pred, const Tensor& sample_weight) {
  const MaskScope masks;  // the values may carry one of their own: of an ignored class
  const Tensor weights = apply_mask(sample_weight, mask_of(y_pred), dtype(), "sum");
  update_values(values(y_true, y_pred), weights);
}

COHORT_REGISTER(Metric, MeanMetric, "Mean", "mean");

Mean::Mean(MetricOptions options) : Handle(std::make_shared<MeanMetric>(std::move(options))) {}

}  // namespace cohort::metrics
