#pragma once

#include "cohort/metrics/metric.h"

namespace cohort::metrics {

// The (weighted) sum of all values seen.
class SumMetric : public Metric {
 public:
  explicit SumMetric(MetricOptions options = {});
  std::string class_name() const override { return "Sum"; }

  void update_values(const Tensor& values, const Tensor& sample_weight = {});
  // As Keras's update_state(values, sample_weight): the first argument is the values, the second their weight.
  void update_state(const Tensor& values, const Tensor& weight_if_second, const Tensor& sample_weight = {}) override;
  Tensor result() override { return total_; }

 private:
  Variable total_;
};

struct Sum : Metric::Handle<SumMetric> {
  explicit Sum(MetricOptions options = {}) : Handle(std::make_shared<SumMetric>(std::move(options))) {}
  void update_state(const Tensor& values, const Tensor& sample_weight = {}) const {
    get()->update_values(values, sample_weight);
  }
};

}  // namespace cohort::metrics
