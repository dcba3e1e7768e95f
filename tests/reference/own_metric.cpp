// A metric of one's own: states that are added up over batches, weighted by samples, beside a mean of a function.
#include <cohort/cohort.h>

#include <cmath>

#include "check.h"

namespace ch = cohort;
namespace ops = ch::ops;

// The share of samples whose error is below a tolerance, by their weights.
class WithinTolerance : public ch::Metric {
 public:
  explicit WithinTolerance(double tolerance)
      : Metric("within_tolerance"),
        tolerance_(tolerance),
        hits_(add_variable("hits", {})),
        total_(add_variable("total", {})) {}
  void update_state(const ch::Tensor& y_true, const ch::Tensor& y_pred, const ch::Tensor& sample_weight) override {
    const ch::Tensor error = ops::max(ops::abs(y_true - y_pred), -1);
    const ch::Tensor weight = sample_weight.defined() ? sample_weight : ops::ones_like(error);
    hits_.assign_add(ops::sum(ops::where(error < tolerance_, weight, 0.0)));
    total_.assign_add(ops::sum(weight));
  }
  ch::Tensor result() override { return hits_.value() / ops::maximum(total_.value(), 1e-7); }

 private:
  double tolerance_;
  ch::Variable hits_, total_;
};

int main() {
  auto metric = ch::make<WithinTolerance>(0.5);
  const ch::Tensor y_true = ch::Tensor::of<float>({1, 2, 3, 4}, {4, 1});
  const ch::Tensor y_pred = ch::Tensor::of<float>({1.1F, 2.1F, 3.1F, 9}, {4, 1});
  metric->update_state(y_true, y_pred, {});
  check(metric->result().item<float>() == 0.75F, "three of four are within the tolerance");
  metric->reset_state();
  metric->update_state(y_true, y_pred, ch::Tensor::of<float>({1, 1, 1, 5}, {4}));
  check(metric->result().item<float>() == 0.375F, "by weight three of eight are");

  ch::set_random_seed(6);
  const ch::Tensor x = ops::random_normal({100, 3});
  const ch::Tensor y = ops::sum(x, -1, ops::keep_dims);
  const auto mean_error = [](const ch::Tensor& labels, const ch::Tensor& predictions) {
    return ops::mean(ops::abs(labels - predictions), -1);
  };
  ch::Sequential model({ch::layers::Dense(1)});
  model.compile({.optimizer = ch::optimizers::Adam(5e-2),
                 .loss = "mse",
                 .metrics = {metric, ch::metrics::MeanOf(mean_error, {.name = "mean_error"})}});
  const ch::History history = model.fit(x, y, {.batch_size = 10, .epochs = 15, .verbose = 0});
  check(history["within_tolerance"].back() > 0.99, "in the end all are within the tolerance");

  const ch::Tensor errors = ops::abs(model.predict(x, {.verbose = 0}) - y);
  const double share = ops::mean(ops::cast(errors < 0.5, ch::DType::Float32)).item<double>();
  const ch::Logs logs = model.evaluate(x, y, {.batch_size = 7, .verbose = 0});
  check(std::abs(logs["within_tolerance"] - share) < 1e-6, "batches of any size give the share of all samples");
  check(std::abs(logs["mean_error"] - ops::mean(errors).item<double>()) < 1e-5, "so does the mean of a function");
}
