#include "cohort/optimizers/lamb.h"

#include "cohort/core/update_op.h"

namespace cohort::optimizers {
namespace {

// (variable, momentum, velocity, gradient; learning_rate, iterations)
[[maybe_unused]] const OpDef& lamb_update =
    define_update("LambUpdate", {.slots = 2,
                                 .shared = {kLearningRate, kIterations},
                                 .attributes = {{"beta_1", 0.9}, {"beta_2", 0.999}, {"epsilon", 1e-7}}});

}  // namespace

LambOptimizer::LambOptimizer(LearningRate learning_rate, LambOptions options)
    : SingleOpOptimizer(std::move(learning_rate), settings_of(options), options.name), options_(std::move(options)) {}

void LambOptimizer::visit_fields(FieldVisitor& visitor) {
  Optimizer::visit_fields(visitor);
  visit_options(options_, visitor);
}

void LambOptimizer::make_slots(const Variables& variables) { add_slots(variables, {"momentum", "velocity"}); }

UpdateOp LambOptimizer::update_op() const {
  return {"LambUpdate",
          {{"beta_1", options_.beta_1}, {"beta_2", options_.beta_2}, {"epsilon", options_.epsilon}},
          {updates_done()}};
}

COHORT_REGISTER(Optimizer, LambOptimizer, "Lamb", "lamb");

Lamb::Lamb(LearningRate learning_rate, LambOptions options)
    : Handle(std::make_shared<LambOptimizer>(std::move(learning_rate), std::move(options))) {}

}  // namespace cohort::optimizers
