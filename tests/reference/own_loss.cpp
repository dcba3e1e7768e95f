// A loss of one's own: a class with an argument that is saved, and a function; here for quantiles of noisy data.
#include <cohort/cohort.h>

#include <cmath>

#include "check.h"

namespace ch = cohort;
namespace ops = ch::ops;

class PinballLoss : public ch::Loss {
 public:
  explicit PinballLoss(double quantile = 0.5) : Loss("pinball"), quantile_(quantile) {}
  void visit_fields(ch::FieldVisitor& visitor) override {
    Loss::visit_fields(visitor);
    visitor.field("quantile", quantile_);
  }
  ch::Tensor call(const ch::Tensor& y_true, const ch::Tensor& y_pred) override {
    const ch::Tensor error = y_true - y_pred;
    return ops::mean(ops::maximum(quantile_ * error, (quantile_ - 1.0) * error), -1);
  }

 private:
  double quantile_;
};
COHORT_REGISTER(ch::Loss, PinballLoss, "programs>PinballLoss");

// The share of y below what a model of a constant learns under this loss.
double share_below(const ch::LossArgument& loss, const ch::Tensor& y) {
  ch::Sequential model({ch::layers::Dense(1, {.use_bias = false})});
  model.compile({.optimizer = ch::optimizers::Adam(5e-2), .loss = loss});
  const ch::Tensor x = ops::ones_like(y);
  model.fit(x, y, {.batch_size = 64, .epochs = 30, .verbose = 0});
  model.save("own_loss.keras");
  return ops::mean(ops::cast(y < model.predict(x, {.verbose = 0}), ch::DType::Float32)).item<double>();
}

int main() {
  ch::set_random_seed(7);
  const ch::Tensor y = ops::random_normal({512, 1});
  const double low = share_below(ch::make<PinballLoss>(0.1), y);
  check(std::abs(low - 0.1) < 0.05, "a tenth lies below the tenth quantile: " + std::to_string(low));
  const double high = share_below(ch::make<PinballLoss>(0.9), y);
  check(std::abs(high - 0.9) < 0.05, "nine tenths below the ninetieth: " + std::to_string(high));

  const ch::Ref<ch::Model> loaded = ch::load_model("own_loss.keras");
  const ch::Tensor x = ops::ones_like(y);
  auto loss = ch::make<PinballLoss>(0.9);
  const double expected = (*loss)(y, loaded->predict(x, {.verbose = 0})).item<double>();
  const double evaluated = loaded->evaluate(x, y, {.verbose = 0})["loss"];
  check(std::abs(evaluated - expected) < 1e-5, "the loaded model knows its loss and the quantile");

  const auto absolute = [](const ch::Tensor& labels, const ch::Tensor& predictions) {
    return ops::mean(ops::abs(labels - predictions), -1);
  };
  const double middle = share_below(ch::losses::LossFunctionWrapper(absolute, {.name = "absolute"}), y);
  check(std::abs(middle - 0.5) < 0.06, "half lies below the median: " + std::to_string(middle));
}
