#pragma once

#include <cstdint>
#include <string>

#include "cohort/optimizers/optimizer.h"

namespace cohort::optimizers {

struct LossScaleOptimizerOptions {
  // What the loss is multiplied with at first.
  double initial_scale = 32768.0;
  // Good steps in a row after which the scale doubles.
  std::int64_t dynamic_growth_steps = 2000;
  std::string name = "loss_scale_optimizer";
};
COHORT_FIELDS(LossScaleOptimizerOptions, initial_scale, dynamic_growth_steps)

class LossScalingOptimizer : public Optimizer {
 public:
  LossScalingOptimizer() : LossScalingOptimizer("sgd") {}
  explicit LossScalingOptimizer(Ref<Optimizer> inner_optimizer, LossScaleOptimizerOptions options = {});
  void visit_fields(FieldVisitor& visitor) override;
  void fields_changed() override;

  void build(const Variables& variables) override;
  void apply(const Gradients& gradients, const Variables& variables) override;
  void update_step(const Gradient& gradient, const Variable& variable, const Tensor& learning_rate) override;
  Tensor scale_loss(const Tensor& loss) const override;
  void finalize_variable_values(const Variables& variables) override;
  bool needs_whole_variable() const override { return inner_->needs_whole_variable(); }
  const Variable& iterations() const override { return inner_->iterations(); }
  double learning_rate() const override { return inner_->learning_rate(); }
  void set_learning_rate(double value) override { inner_->set_learning_rate(value); }
  // Its own state, then the other optimizer's.
  const Variables& variables() const override;
  std::vector<std::pair<Variable, Variable>> averages() const override { return inner_->averages(); }

  // The optimizer that does the updates.
  const Ref<Optimizer>& inner_optimizer() const { return inner_; }
  // What the loss is multiplied with now.
  double dynamic_scale() const;

 private:
  void check() const;
  void make_scale();
  Ref<Optimizer> inner_;
  LossScaleOptimizerOptions options_;
  Variable step_counter_, dynamic_scale_;
  Variables all_;
};

// Lets another optimizer train in float16: the loss is multiplied by a scale so that small gradients do not vanish. A
// step whose gradients are not finite is left out and halves the scale; enough good ones in a row double it.
//   inner_optimizer: the optimizer that does the updates, an object or a name.
struct LossScaleOptimizer : Optimizer::Handle<LossScalingOptimizer> {
  explicit LossScaleOptimizer(Ref<Optimizer> inner_optimizer, LossScaleOptimizerOptions options = {});
};

}  // namespace cohort::optimizers
