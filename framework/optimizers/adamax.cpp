#include "cohort/optimizers/adamax.h"

#include "cohort/optimizers/update_op.h"

namespace cohort::optimizers {

AdamaxOptimizer::AdamaxOptimizer(LearningRate learning_rate, AdamaxOptions options)
    : Optimizer(std::move(learning_rate), settings_of(options), options.name), options_(std::move(options)) {}

void AdamaxOptimizer::visit_fields(FieldVisitor& visitor) {
  Optimizer::visit_fields(visitor);
  visitor.field("beta_1", options_.beta_1);
  visitor.field("beta_2", options_.beta_2);
  visitor.field("epsilon", options_.epsilon);
}

void AdamaxOptimizer::build(const Variables& variables) {
  if (built()) return;
  Optimizer::build(variables);
  for (const Variable& variable : variables) {
    momentums_.push_back(add_slot(variable, "momentum"));
    norms_.push_back(add_slot(variable, "norm"));
  }
}

void AdamaxOptimizer::update_step(const Gradient& gradient, const Variable& variable, const Tensor& learning_rate) {
  const auto i = static_cast<std::size_t>(index_of(variable));
  run_update("AdamaxUpdate", {variable, momentums_[i], norms_[i]}, gradient, {learning_rate, updates_done()},
             {{"weight_decay", weight_decay_of(variable)},
              {"beta_1", options_.beta_1},
              {"beta_2", options_.beta_2},
              {"epsilon", options_.epsilon}});
}

namespace {

[[maybe_unused]] const bool registered =
    Optimizer::registry().add("Adamax", [] { return std::make_shared<AdamaxOptimizer>(); }, {"adamax"});

}  // namespace
}  // namespace cohort::optimizers
