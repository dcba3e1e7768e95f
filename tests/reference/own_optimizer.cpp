// An optimizer of one's own, with a slot for each variable, and a learning rate schedule of one's own.
#include <cohort/cohort.h>

#include <cmath>

#include "check.h"

namespace ch = cohort;
namespace ops = ch::ops;

// rate / sqrt(1 + step).
class InverseRoot : public ch::LearningRateSchedule {
 public:
  explicit InverseRoot(double rate = 0.1) : rate_(rate) {}
  ch::Tensor operator()(const ch::Tensor& step) const override {
    return rate_ * ops::rsqrt(1.0 + ops::cast(step, ch::DType::Float32));
  }

 private:
  double rate_;
};

class SignMomentum : public ch::Optimizer {
 public:
  SignMomentum(ch::LearningRate learning_rate, double beta, ch::OptimizerSettings settings = {})
      : Optimizer(learning_rate, settings, "sign_momentum"), beta_(beta) {}
  void build(const ch::Variables& variables) override {
    Optimizer::build(variables);
    for (const ch::Variable& variable : variables) momenta_.push_back(add_slot(variable, "momentum"));
  }
  void update_step(const ch::Gradient& gradient, const ch::Variable& variable, const ch::Tensor& rate) override {
    ch::Variable momentum = momenta_[static_cast<std::size_t>(index_of(variable))];
    const ch::Tensor next = beta_ * momentum.value() + (1.0 - beta_) * gradient.dense();
    momentum.assign(next);
    ch::Variable(variable).assign_sub(rate * ops::sign(next));
  }

 private:
  double beta_;
  ch::Variables momenta_;
};

int main() {
  ch::set_random_seed(9);
  const ch::Tensor x = ops::random_normal({128, 4});
  const ch::Tensor y = ops::matmul(x, ch::Tensor::of<float>({1, -2, 3, -4}, {4, 1}));
  ch::Sequential model({ch::layers::Dense(1)});
  auto optimizer = ch::make<SignMomentum>(ch::make<InverseRoot>(0.2), 0.5, ch::OptimizerSettings{.clipnorm = 1.0});
  model.compile({.optimizer = optimizer, .loss = "mse"});
  const ch::History history = model.fit(x, y, {.batch_size = 16, .epochs = 40, .verbose = 0});

  check(history["loss"].back() < 0.01 * history["loss"].front(), "the loss falls to a hundredth");
  check(optimizer->iterations().value().item<std::int64_t>() == 8 * 40, "every batch is one iteration");
  check(std::abs(optimizer->learning_rate() - 0.2 / std::sqrt(321.0)) < 1e-6, "the rate follows the schedule");
  check(optimizer->variables().size() == 3, "its state: the iterations and a slot for each weight");
}
