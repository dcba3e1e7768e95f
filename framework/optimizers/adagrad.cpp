#include "cohort/optimizers/adagrad.h"

#include "cohort/optimizers/update_op.h"

namespace cohort::optimizers {

AdagradOptimizer::AdagradOptimizer(LearningRate learning_rate, AdagradOptions options)
    : Optimizer(std::move(learning_rate), settings_of(options), options.name), options_(std::move(options)) {}

void AdagradOptimizer::visit_fields(FieldVisitor& visitor) {
  Optimizer::visit_fields(visitor);
  visitor.field("initial_accumulator_value", options_.initial_accumulator_value);
  visitor.field("epsilon", options_.epsilon);
}

void AdagradOptimizer::build(const Variables& variables) {
  if (built()) return;
  Optimizer::build(variables);
  for (const Variable& variable : variables) {
    accumulators_.push_back(add_slot(variable, "accumulator", options_.initial_accumulator_value));
  }
}

void AdagradOptimizer::update_step(const Gradient& gradient, const Variable& variable, const Tensor& learning_rate) {
  const auto i = static_cast<std::size_t>(index_of(variable));
  run_update("AdagradUpdate", {variable, accumulators_[i]}, gradient, {learning_rate},
             {{"weight_decay", weight_decay_of(variable)}, {"epsilon", options_.epsilon}});
}

namespace {

[[maybe_unused]] const bool registered =
    Optimizer::registry().add("Adagrad", [] { return std::make_shared<AdagradOptimizer>(); }, {"adagrad"});

}  // namespace
}  // namespace cohort::optimizers
