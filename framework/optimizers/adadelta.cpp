#include "cohort/optimizers/adadelta.h"

#include "cohort/optimizers/update_op.h"

namespace cohort::optimizers {

AdadeltaOptimizer::AdadeltaOptimizer(LearningRate learning_rate, AdadeltaOptions options)
    : Optimizer(std::move(learning_rate), settings_of(options), options.name), options_(std::move(options)) {}

void AdadeltaOptimizer::visit_fields(FieldVisitor& visitor) {
  Optimizer::visit_fields(visitor);
  visitor.field("rho", options_.rho);
  visitor.field("epsilon", options_.epsilon);
}

void AdadeltaOptimizer::build(const Variables& variables) {
  if (built()) return;
  Optimizer::build(variables);
  for (const Variable& variable : variables) {
    accumulated_grads_.push_back(add_slot(variable, "accumulated_grad"));
    accumulated_delta_vars_.push_back(add_slot(variable, "accumulated_delta_var"));
  }
}

void AdadeltaOptimizer::update_step(const Gradient& gradient, const Variable& variable, const Tensor& learning_rate) {
  const auto i = static_cast<std::size_t>(index_of(variable));
  run_update("AdadeltaUpdate", {variable, accumulated_grads_[i], accumulated_delta_vars_[i]}, gradient, {learning_rate},
             {{"weight_decay", weight_decay_of(variable)}, {"rho", options_.rho}, {"epsilon", options_.epsilon}});
}

namespace {

[[maybe_unused]] const bool registered =
    Optimizer::registry().add("Adadelta", [] { return std::make_shared<AdadeltaOptimizer>(); }, {"adadelta"});

}  // namespace
}  // namespace cohort::optimizers
