#include "cohort/optimizers/adam.h"

#include "cohort/core/update_op.h"

namespace cohort::optimizers {
namespace {

// (variable, momentum, velocity [, velocity_hat with amsgrad], gradient; learning_rate, iterations)
[[maybe_unused]] const OpDef& adam_update = define_update(
    "AdamUpdate",
    {.slots = 2,
     .shared = {kLearningRate, kIterations},
     .attributes =
         {{"beta_1", 0.9}, {"beta_2", 0.999}, {"epsilon", 1e-7}, {"amsgrad", false}, {"learning_rate_ratio", 1.0}},
     .rounds = true,
     .more_slots = [](const OpCall& call) { return call.attr<bool>("amsgrad") ? 1 : 0; }});

}  // namespace

AdamOptimizer::AdamOptimizer(LearningRate learning_rate, AdamOptions options)
    : SingleOpOptimizer(std::move(learning_rate), settings_of(options), options.name), options_(std::move(options)) {}

void AdamOptimizer::visit_fields(FieldVisitor& visitor) {
  Optimizer::visit_fields(visitor);
  visit_options(options_, visitor);
}

void AdamOptimizer::make_slots(const Variables& variables) {
  add_slots(variables, {"momentum", "velocity"});
  if (options_.amsgrad) add_slots(variables, {"velocity_hat"});
}

UpdateOp AdamOptimizer::update_op() const {
  return {"AdamUpdate",
          {{"beta_1", options_.beta_1},
           {"beta_2", options_.beta_2},
           {"epsilon", options_.epsilon},
           {"amsgrad", options_.amsgrad}},
          {updates_done()}};
}

COHORT_REGISTER(Optimizer, AdamOptimizer, "Adam", "adam");

Adam::Adam(LearningRate learning_rate, AdamOptions options)
    : Handle(std::make_shared<AdamOptimizer>(std::move(learning_rate), std::move(options))) {}

}  // namespace cohort::optimizers
