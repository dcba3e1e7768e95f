#pragma once

#include "cohort/metrics/metric.h"

namespace cohort::metrics {

class MeanMetric : public Metric {
 public:
  explicit MeanMetric(MetricOptions options = {});

  // Adds values of any shape (batch, ...), weighted per sample, or per value of the leading axes.
  void update_values(const Tensor& values, const Tensor& sample_weight = {});
  // As Keras's update_state(values, sample_weight): the first argument is the values, the second their weight.
  void update_state(const Tensor& values, const Tensor& weight_if_second, const Tensor& sample_weight = {}) override;
  Tensor result() override;

 private:
  Variable total_;
  Variable count_;
};

// A mean of what a function makes of labels and predictions, as Keras's class of that name. What y_pred's mask leaves
// out does not count.
class MeanMetricWrapper : public MeanMetric {
 public:
  explicit MeanMetricWrapper(MetricOptions options) : MeanMetric(std::move(options)) {}
  // A figure per sample.
  virtual Tensor values(const Tensor& y_true, const Tensor& y_pred) = 0;
  void update_state(const Tensor& y_true, const Tensor& y_pred, const Tensor& sample_weight = {}) override;
};

// Options whose name, when left out, is `name`.
inline MetricOptions named(MetricOptions options, const char* name) {
  if (options.name.empty()) options.name = name;
  return options;
}

// Weighted mean of all values given to update_state().
// Takes values of any shape (batch, ...), sample_weight (batch) or of the leading axes of the values; the result is a
// scalar.
struct Mean : Metric::Handle<MeanMetric> {
  explicit Mean(MetricOptions options = {});
  // Adds values (batch, ...), weighted by sample_weight; undefined: each sample counts once.
  void update_state(const Tensor& values, const Tensor& sample_weight = {}) const {
    get()->update_values(values, sample_weight);
  }
};

}  // namespace cohort::metrics
