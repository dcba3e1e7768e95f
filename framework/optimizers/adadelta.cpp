#include "cohort/optimizers/adadelta.h"

#include "cohort/core/update_op.h"

namespace cohort::optimizers {
namespace {

// (variable, accumulated_grad, accumulated_delta_var, gradient; learning_rate)
[[maybe_unused]] const OpDef& adadelta_update =
    define_update("AdadeltaUpdate", {.slots = 2, .attributes = {{"rho", 0.95}, {"epsilon", 1e-7}}, .rounds = true});

}  // namespace

AdadeltaOptimizer::AdadeltaOptimizer(LearningRate learning_rate, AdadeltaOptions options)
    : SingleOpOptimizer(std::move(learning_rate), settings_of(options), options.name), options_(std::move(options)) {}

void AdadeltaOptimizer::visit_fields(FieldVisitor& visitor) {
  Optimizer::visit_fields(visitor);
  visit_options(options_, visitor);
}

void AdadeltaOptimizer::make_slots(const Variables& variables) {
  add_slots(variables, {"accumulated_grad", "accumulated_delta_var"});
}

UpdateOp AdadeltaOptimizer::update_op() const {
  return {"AdadeltaUpdate", {{"rho", options_.rho}, {"epsilon", options_.epsilon}}};
}

COHORT_REGISTER(Optimizer, AdadeltaOptimizer, "Adadelta", "adadelta");

Adadelta::Adadelta(LearningRate learning_rate, AdadeltaOptions options)
    : Handle(std::make_shared<AdadeltaOptimizer>(std::move(learning_rate), std::move(options))) {}

}  // namespace cohort::optimizers
