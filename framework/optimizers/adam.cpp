#include "cohort/optimizers/adam.h"

#include "cohort/optimizers/update_op.h"

namespace cohort::optimizers {

AdamOptimizer::AdamOptimizer(LearningRate learning_rate, AdamOptions options)
    : Optimizer(std::move(learning_rate), settings_of(options), options.name), options_(std::move(options)) {}

void AdamOptimizer::visit_fields(FieldVisitor& visitor) {
  Optimizer::visit_fields(visitor);
  visitor.field("beta_1", options_.beta_1);
  visitor.field("beta_2", options_.beta_2);
  visitor.field("epsilon", options_.epsilon);
  visitor.field("amsgrad", options_.amsgrad);
}

void AdamOptimizer::build(const Variables& variables) {
  if (built()) return;
  Optimizer::build(variables);
  for (const Variable& variable : variables) {
    momentums_.push_back(add_slot(variable, "momentum"));
    velocities_.push_back(add_slot(variable, "velocity"));
  }
  if (!options_.amsgrad) return;
  for (const Variable& variable : variables) velocity_hats_.push_back(add_slot(variable, "velocity_hat"));
}

void AdamOptimizer::update_step(const Gradient& gradient, const Variable& variable, const Tensor& learning_rate) {
  const auto i = static_cast<std::size_t>(index_of(variable));
  Variables states = {variable, momentums_[i], velocities_[i]};
  if (options_.amsgrad) states.push_back(velocity_hats_[i]);
  run_update("AdamUpdate", states, gradient, {learning_rate, updates_done()},
             {{"weight_decay", weight_decay_of(variable)},
              {"beta_1", options_.beta_1},
              {"beta_2", options_.beta_2},
              {"epsilon", options_.epsilon},
              {"amsgrad", options_.amsgrad}});
}

namespace {

[[maybe_unused]] const bool registered =
    Optimizer::registry().add("Adam", [] { return std::make_shared<AdamOptimizer>(); }, {"adam"});

}  // namespace
}  // namespace cohort::optimizers
