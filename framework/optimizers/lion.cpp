#include "cohort/optimizers/lion.h"

#include "cohort/core/update_op.h"

namespace cohort::optimizers {
namespace {

// (variable, momentum, gradient; learning_rate)
[[maybe_unused]] const OpDef& lion_update =
    define_update("LionUpdate", {.slots = 1, .attributes = {{"beta_1", 0.9}, {"beta_2", 0.99}}, .rounds = true});

}  // namespace

LionOptimizer::LionOptimizer(LearningRate learning_rate, LionOptions options)
    : SingleOpOptimizer(std::move(learning_rate), settings_of(options), options.name), options_(std::move(options)) {}

void LionOptimizer::visit_fields(FieldVisitor& visitor) {
  Optimizer::visit_fields(visitor);
  visit_options(options_, visitor);
}

void LionOptimizer::make_slots(const Variables& variables) { add_slots(variables, {"momentum"}); }

UpdateOp LionOptimizer::update_op() const {
  return {"LionUpdate", {{"beta_1", options_.beta_1}, {"beta_2", options_.beta_2}}};
}

COHORT_REGISTER(Optimizer, LionOptimizer, "Lion", "lion");

Lion::Lion(LearningRate learning_rate, LionOptions options)
    : Handle(std::make_shared<LionOptimizer>(std::move(learning_rate), std::move(options))) {}

}  // namespace cohort::optimizers
