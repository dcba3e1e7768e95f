#include "cohort/optimizers/rmsprop.h"

#include "cohort/optimizers/update_op.h"

namespace cohort::optimizers {

RMSpropOptimizer::RMSpropOptimizer(LearningRate learning_rate, RMSpropOptions options)
    : Optimizer(std::move(learning_rate), settings_of(options), options.name), options_(std::move(options)) {}

void RMSpropOptimizer::visit_fields(FieldVisitor& visitor) {
  Optimizer::visit_fields(visitor);
  visitor.field("rho", options_.rho);
  visitor.field("momentum", options_.momentum);
  visitor.field("epsilon", options_.epsilon);
  visitor.field("centered", options_.centered);
}

void RMSpropOptimizer::build(const Variables& variables) {
  if (built()) return;
  Optimizer::build(variables);
  for (const Variable& variable : variables) velocities_.push_back(add_slot(variable, "velocity"));
  if (options_.momentum > 0.0) {
    for (const Variable& variable : variables) momentums_.push_back(add_slot(variable, "momentum"));
  }
  if (options_.centered) {
    for (const Variable& variable : variables) average_gradients_.push_back(add_slot(variable, "average_gradient"));
  }
}

void RMSpropOptimizer::update_step(const Gradient& gradient, const Variable& variable, const Tensor& learning_rate) {
  const auto i = static_cast<std::size_t>(index_of(variable));
  Variables states = {variable, velocities_[i]};
  if (options_.momentum > 0.0) states.push_back(momentums_[i]);
  if (options_.centered) states.push_back(average_gradients_[i]);
  run_update("RMSpropUpdate", states, gradient, {learning_rate},
             {{"weight_decay", weight_decay_of(variable)},
              {"rho", options_.rho},
              {"momentum", options_.momentum},
              {"epsilon", options_.epsilon},
              {"centered", options_.centered}});
}

namespace {

[[maybe_unused]] const bool registered =
    Optimizer::registry().add("RMSprop", [] { return std::make_shared<RMSpropOptimizer>(); }, {"rmsprop"});

}  // namespace
}  // namespace cohort::optimizers
