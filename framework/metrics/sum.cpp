#include "cohort/metrics/sum.h"

#include "cohort/metrics/samplewise_values.h"

namespace cohort::metrics {

SumMetric::SumMetric(MetricOptions options)
    : Metric(options.name.empty() ? "sum" : options.name, options.dtype), total_(add_variable("total", {})) {}

void SumMetric::update_values(const Tensor& values, const Tensor& sample_weight) {
  total_.assign_add(ops::sum(reduce_to_samplewise_values(values, sample_weight, ops::sum, dtype()).first));
}

void SumMetric::update_state(const Tensor& values, const Tensor& weight_if_second, const Tensor& sample_weight) {
  update_values(values, sample_weight.defined() ? sample_weight : weight_if_second);
}

COHORT_REGISTER(Metric, SumMetric, "Sum", "sum");

Sum::Sum(MetricOptions options) : Handle(std::make_shared<SumMetric>(std::move(options))) {}

}  // namespace cohort::metrics
