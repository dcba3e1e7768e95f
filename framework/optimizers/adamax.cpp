#include "cohort/optimizers/adamax.h"

#include "cohort/core/update_op.h"

namespace cohort::optimizers {
namespace {

// (variable, momentum, norm, gradient; learning_rate, iterations). Its squares are magnitudes.
[[maybe_unused]] const OpDef& adamax_update =
    define_update("AdamaxUpdate", {.slots = 2,
                                   .shared = {kLearningRate, kIterations},
                                   .attributes = {{"beta_1", 0.9}, {"beta_2", 0.999}, {"epsilon", 1e-7}},
                                   .rounds = true});

}  // namespace

AdamaxOptimizer::AdamaxOptimizer(LearningRate learning_rate, AdamaxOptions options)
    : SingleOpOptimizer(std::move(learning_rate), settings_of(options), options.name), options_(std::move(options)) {}

void AdamaxOptimizer::visit_fields(FieldVisitor& visitor) {
  Optimizer::visit_fields(visitor);
  visit_options(options_, visitor);
}

void AdamaxOptimizer::make_slots(const Variables& variables) { add_slots(variables, {"momentum", "norm"}); }

UpdateOp AdamaxOptimizer::update_op() const {
  return {"AdamaxUpdate",
          {{"beta_1", options_.beta_1}, {"beta_2", options_.beta_2}, {"epsilon", options_.epsilon}},
          {updates_done()}};
}

COHORT_REGISTER(Optimizer, AdamaxOptimizer, "Adamax", "adamax");

Adamax::Adamax(LearningRate learning_rate, AdamaxOptions options)
    : Handle(std::make_shared<AdamaxOptimizer>(std::move(learning_rate), std::move(options))) {}

}  // namespace cohort::optimizers
