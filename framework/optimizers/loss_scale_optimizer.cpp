#include "cohort/optimizers/loss_scale_optimizer.h"

#include "cohort/core/text.h"
#include "cohort/graph/trace.h"
#include "cohort/ops/math.h"
#include "cohort/ops/reduce.h"
#include "cohort/optimizers/gradient_magnitudes.h"
#include "cohort/optimizers/replica_gradients.h"
#include "cohort/variables/shards.h"

namespace cohort::optimizers {

LossScalingOptimizer::LossScalingOptimizer(Ref<Optimizer> inner_optimizer, LossScaleOptimizerOptions options)
    : Optimizer(0.0, {}, options.name), inner_(std::move(inner_optimizer)), options_(std::move(options)) {
  check();
  make_scale();
}

void LossScalingOptimizer::visit_fields(FieldVisitor& visitor) {
  visitor.field("name", name_);
  visitor.field("inner_optimizer", inner_);
  visit_options(options_, visitor);
}

void LossScalingOptimizer::fields_changed() {
  Optimizer::fields_changed();
  check();
  make_scale();
}

// Made before build(): a step that is traced first scales its loss by the variable, not by what it was then.
void LossScalingOptimizer::make_scale() {
  step_counter_ = add_state("step_counter", Tensor::scalar(0, DType::Int64));
  dynamic_scale_ = add_state("dynamic_scale", Tensor::scalar(options_.initial_scale));
}

void LossScalingOptimizer::check() const {
  const std::string who = titled("Optimizer", name_);
  if (!inner_) throw invalid_argument(who, "an inner_optimizer is expected", {{"inner_optimizer", "None"}});
  if (!(options_.initial_scale > 0.0)) {
    throw invalid_argument(who, "initial_scale must be above 0", {{"initial_scale", options_.initial_scale}});
  }
  if (options_.dynamic_growth_steps < 1) {
    throw invalid_argument(who, "dynamic_growth_steps must be at least 1",
                           {{"dynamic_growth_steps", options_.dynamic_growth_steps}});
  }
  inner_->set_loss_scale_factor(std::nullopt);
}

void LossScalingOptimizer::build(const Variables& variables) {
  if (built()) return;
  Optimizer::build(shards_of(variables));
  inner_->ensure_built(variables);
  all_ = Optimizer::variables();
  for (const Variable& variable : inner_->variables()) {
    // Without what was made outside the inner optimizer's scope (Adafactor does), which Keras does not list here.
    if (variable.path().find('/') != std::string::npos) all_.push_back(variable);
  }
}

const Variables& LossScalingOptimizer::variables() const { return built() ? all_ : Optimizer::variables(); }

void LossScalingOptimizer::apply(const Gradients& gradients, const Variables& variables) {
  ensure_built(variables);
  NameScope scope(name_);
  const Tensor scale = dynamic_scale_, counter = step_counter_;
  const ReplicaGradients replicas(gradients);  // infinite anywhere, infinite everywhere
  Gradients unscaled = replicas.summed();
  Tensor finite;
  for (Gradient& gradient : unscaled) {
    if (!gradient.defined()) continue;
    const Tensor good = all_finite(gradient);
    finite = finite.defined() ? ops::logical_and(finite, good) : good;
    gradient = gradient.map([&](const Tensor& values) { return values / ops::cast(scale, values.dtype()); });
  }
  // The step is made and, where it must not be, taken back: an optimizer's step may be made of any ops.
  Variables touched = variables;
  touched.insert(touched.end(), inner_->variables().begin(), inner_->variables().end());
  Tensors before;
  for (const Variable& variable : touched) before.push_back(variable.value());
  inner_->apply(unscaled, variables);
  for (std::size_t i = 0; i < touched.size(); ++i) {
    touched[i].assign(ops::where(finite, touched[i].value(), before[i]));
  }
  const Tensor grows = ops::equal(counter, static_cast<double>(options_.dynamic_growth_steps - 1));
  step_counter_.assign(ops::where(ops::logical_and(finite, ops::logical_not(grows)), counter + 1.0, 0.0));
  dynamic_scale_.assign(ops::where(finite, ops::where(grows, scale * 2.0, scale), scale * 0.5));
}

void LossScalingOptimizer::update_step(const Gradient& gradient, const Variable& variable,
                                       const Tensor& learning_rate) {
  inner_->update_step(gradient, variable, learning_rate);
}

Tensor LossScalingOptimizer::scale_loss(const Tensor& loss) const {
  return loss * ops::cast(dynamic_scale_.value(), loss.dtype());
}

double LossScalingOptimizer::dynamic_scale() const { return read_now(dynamic_scale_).item<double>(); }

void LossScalingOptimizer::finalize_variable_values(const Variables& variables) {
  inner_->finalize_variable_values(variables);
}

COHORT_REGISTER(Optimizer, LossScalingOptimizer, "LossScaleOptimizer", "lossscaleoptimizer");

LossScaleOptimizer::LossScaleOptimizer(Ref<Optimizer> inner_optimizer, LossScaleOptimizerOptions options)
    : Handle(std::make_shared<LossScalingOptimizer>(std::move(inner_optimizer), std::move(options))) {}

}  // namespace cohort::optimizers
