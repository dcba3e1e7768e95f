#include "cohort/optimizers/adagrad.h"

#include "cohort/core/update_op.h"

namespace cohort::optimizers {
namespace {

// (variable, accumulator, gradient; learning_rate)
[[maybe_unused]] const OpDef& adagrad_update =
    define_update("AdagradUpdate", {.slots = 1, .attributes = {{"epsilon", 1e-7}}, .rounds = true});

}  // namespace

AdagradOptimizer::AdagradOptimizer(LearningRate learning_rate, AdagradOptions options)
    : SingleOpOptimizer(std::move(learning_rate), settings_of(options), options.name), options_(std::move(options)) {}

void AdagradOptimizer::visit_fields(FieldVisitor& visitor) {
  Optimizer::visit_fields(visitor);
  visit_options(options_, visitor);
}

void AdagradOptimizer::make_slots(const Variables& variables) {
  add_slots(variables, {"accumulator"}, options_.initial_accumulator_value);
}

UpdateOp AdagradOptimizer::update_op() const { return {"AdagradUpdate", {{"epsilon", options_.epsilon}}}; }

COHORT_REGISTER(Optimizer, AdagradOptimizer, "Adagrad", "adagrad");

Adagrad::Adagrad(LearningRate learning_rate, AdagradOptions options)
    : Handle(std::make_shared<AdagradOptimizer>(std::move(learning_rate), std::move(options))) {}

}  // namespace cohort::optimizers
