#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cohort/optimizers/single_op_optimizer.h"

namespace cohort::optimizers {

struct SGDOptions {
  // Share of the last step that is added to the next one, in [0, 1]; 0: none.
  double momentum = 0.0;
  // Look ahead along the momentum, as Nesterov does.
  bool nesterov = false;
  std::optional<double> weight_decay = std::nullopt;
  std::optional<double> clipnorm = std::nullopt;
  std::optional<double> clipvalue = std::nullopt;
  std::optional<double> global_clipnorm = std::nullopt;
  bool use_ema = false;
  double ema_momentum = 0.99;
  std::optional<std::int64_t> ema_overwrite_frequency = std::nullopt;
  std::optional<double> loss_scale_factor = std::nullopt;
  std::optional<std::int64_t> gradient_accumulation_steps = std::nullopt;
  std::string name = "sgd";
};
COHORT_FIELDS(SGDOptions, momentum, nesterov)

class SGDOptimizer : public SingleOpOptimizer {
 public:
  explicit SGDOptimizer(LearningRate learning_rate = 0.01, SGDOptions options = {});
  void visit_fields(FieldVisitor& visitor) override;
  void fields_changed() override;
  void update_step(const Gradient& gradient, const Variable& variable, const Tensor& learning_rate) override;

 protected:
  void make_slots(const Variables& variables) override;
  UpdateOp update_op() const override;
  DenseGradient dense(const Gradient& gradient) const override { return {gradient.dense()}; }

 private:
  SGDOptions options_;
};

// Stochastic gradient descent, with momentum when asked: w -= learning_rate * gradient.
//   learning_rate: step size, a number or a schedule.
struct SGD : Optimizer::Handle<SGDOptimizer> {
  explicit SGD(LearningRate learning_rate = 0.01, SGDOptions options = {});
};

}  // namespace cohort::optimizers
