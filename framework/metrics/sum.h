#pragma once

#include "cohort/metrics/metric.h"

namespace cohort::metrics {

class SumMetric : public Metric {
 public:
  explicit SumMetric(MetricOptions options = {});

  // Adds values of any shape (batch, ...), weighted per sample, or per value of the leading axes.
  void update_values(const Tensor& values, const Tensor& sample_weight = {});
  // As Keras's update_state(values, sample_weight): the first argument is the values, the second their weight.
  void update_state(const Tensor& values, const Tensor& weight_if_second, const Tensor& sample_weight = {}) override;
  Tensor result() override { return total_; }

 private:
  Variable total_;
};

// Weighted sum of all values given to update_state().
// Takes values of any shape (batch, ...), sample_weight (batch) or of the leading axes of the values; the result is a
// scalar.
struct Sum : Metric::Handle<SumMetric> {
  explicit Sum(MetricOptions options = {});
  // Adds values (batch, ...), times sample_weight where it is defined.
  void update_state(const Tensor& values, const Tensor& sample_weight = {}) const {
    get()->update_values(values, sample_weight);
  }
};

}  // namespace cohort::metrics
