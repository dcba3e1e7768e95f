#include "cohort/optimizers/adam.h"

namespace cohort::optimizers {

AdamOptimizer::AdamOptimizer(LearningRate learning_rate, AdamOptions options)
    : SingleOpOptimizer(std::move(learning_rate), settings_of(options), options.name), options_(std::move(options)) {}

void AdamOptimizer::visit_fields(FieldVisitor& visitor) {
  Optimizer::visit_fields(visitor);
  visitor.field("beta_1", options_.beta_1);
  visitor.field("beta_2", options_.beta_2);
  visitor.field("epsilon", options_.epsilon);
  visitor.field("amsgrad", options_.amsgrad);
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

namespace {

[[maybe_unused]] const bool adam_registered =
    Optimizer::registry().add("Adam", [] { return std::make_shared<AdamOptimizer>(); }, {"adam"});

}  // namespace
}  // namespace cohort::optimizers
