#include "cohort/optimizers/rmsprop.h"

#include "cohort/core/update_op.h"

namespace cohort::optimizers {
namespace {

int rmsprop_slots(const OpCall& call) {
  return (call.attr<double>("momentum") > 0.0 ? 1 : 0) + (call.attr<bool>("centered") ? 1 : 0);
}

// (variable, velocity [, momentum] [, average_gradient], gradient; learning_rate)
[[maybe_unused]] const OpDef& rmsprop_update = define_update(
    "RMSpropUpdate", {.slots = 1,
                      .attributes = {{"rho", 0.9}, {"momentum", 0.0}, {"epsilon", 1e-7}, {"centered", false}},
                      .rounds = true,
                      .more_slots = rmsprop_slots});

}  // namespace

RMSpropOptimizer::RMSpropOptimizer(LearningRate learning_rate, RMSpropOptions options)
    : SingleOpOptimizer(std::move(learning_rate), settings_of(options), options.name), options_(std::move(options)) {}

void RMSpropOptimizer::visit_fields(FieldVisitor& visitor) {
  Optimizer::visit_fields(visitor);
  visit_options(options_, visitor);
}

void RMSpropOptimizer::make_slots(const Variables& variables) {
  add_slots(variables, {"velocity"});
  if (options_.momentum > 0.0) add_slots(variables, {"momentum"});
  if (options_.centered) add_slots(variables, {"average_gradient"});
}

UpdateOp RMSpropOptimizer::update_op() const {
  return {"RMSpropUpdate",
          {{"rho", options_.rho},
           {"momentum", options_.momentum},
           {"epsilon", options_.epsilon},
           {"centered", options_.centered}}};
}

COHORT_REGISTER(Optimizer, RMSpropOptimizer, "RMSprop", "rmsprop");

RMSprop::RMSprop(LearningRate learning_rate, RMSpropOptions options)
    : Handle(std::make_shared<RMSpropOptimizer>(std::move(learning_rate), std::move(options))) {}

}  // namespace cohort::optimizers
