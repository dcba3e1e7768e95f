#include "cohort/optimizers/schedule_free_adamw.h"

#include "cohort/core/update_op.h"

namespace cohort::optimizers {
namespace {

// (variable, momentum, velocity, gradient; learning_rate, iterations)
[[maybe_unused]] const OpDef& schedule_free_adamw_update =
    define_update("ScheduleFreeAdamWUpdate",
                  {.slots = 2,
                   .shared = {kLearningRate, kIterations},
                   .attributes = {{"beta_1", 0.9}, {"beta_2", 0.999}, {"epsilon", 1e-8}, {"warmup_steps", 0}},
                   .rounds = true});

}  // namespace

ScheduleFreeAdamWOptimizer::ScheduleFreeAdamWOptimizer(LearningRate learning_rate, ScheduleFreeAdamWOptions options)
    : SingleOpOptimizer(std::move(learning_rate), settings_of(options), options.name), options_(std::move(options)) {}

void ScheduleFreeAdamWOptimizer::visit_fields(FieldVisitor& visitor) {
  Optimizer::visit_fields(visitor);
  visit_options(options_, visitor);
}

void ScheduleFreeAdamWOptimizer::make_slots(const Variables& variables) {
  add_slots(variables, {"momentum", "velocity"});
}

void ScheduleFreeAdamWOptimizer::build(const Variables& variables) {
  if (built()) return;
  SingleOpOptimizer::build(variables);
  // The iterate that is averaged starts where the variable does.
  for (const Variable& variable : variables) {
    for (const Variable& shard : variable.shards()) write_now(slot_of(shard, 0), read_now(shard));
  }
}

UpdateOp ScheduleFreeAdamWOptimizer::update_op() const {
  return {"ScheduleFreeAdamWUpdate",
          {{"beta_1", options_.beta_1},
           {"beta_2", options_.beta_2},
           {"epsilon", options_.epsilon},
           {"warmup_steps", options_.warmup_steps}},
          {updates_done()}};
}

COHORT_REGISTER(Optimizer, ScheduleFreeAdamWOptimizer, "ScheduleFreeAdamW", "schedulefreeadamw",
                "schedule_free_adam_w");

ScheduleFreeAdamW::ScheduleFreeAdamW(LearningRate learning_rate, ScheduleFreeAdamWOptions options)
    : Handle(std::make_shared<ScheduleFreeAdamWOptimizer>(std::move(learning_rate), std::move(options))) {}

}  // namespace cohort::optimizers
