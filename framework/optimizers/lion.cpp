#include "cohort/optimizers/lion.h"

#include "cohort/optimizers/update_op.h"

namespace cohort::optimizers {

LionOptimizer::LionOptimizer(LearningRate learning_rate, LionOptions options)
    : Optimizer(std::move(learning_rate), settings_of(options), options.name), options_(std::move(options)) {}

void LionOptimizer::visit_fields(FieldVisitor& visitor) {
  Optimizer::visit_fields(visitor);
  visitor.field("beta_1", options_.beta_1);
  visitor.field("beta_2", options_.beta_2);
}

void LionOptimizer::build(const Variables& variables) {
  if (built()) return;
  Optimizer::build(variables);
  for (const Variable& variable : variables) momentums_.push_back(add_slot(variable, "momentum"));
}

void LionOptimizer::update_step(const Gradient& gradient, const Variable& variable, const Tensor& learning_rate) {
  const auto i = static_cast<std::size_t>(index_of(variable));
  run_update("LionUpdate", {variable, momentums_[i]}, gradient, {learning_rate},
             {{"weight_decay", weight_decay_of(variable)}, {"beta_1", options_.beta_1}, {"beta_2", options_.beta_2}});
}

namespace {

[[maybe_unused]] const bool registered =
    Optimizer::registry().add("Lion", [] { return std::make_shared<LionOptimizer>(); }, {"lion"});

}  // namespace
}  // namespace cohort::optimizers
