#include "cohort/optimizers/ftrl.h"

#include "cohort/core/update_op.h"

#include <utility>

namespace cohort::optimizers {
namespace {

// (variable, accumulator, linear, gradient; learning_rate)
[[maybe_unused]] const OpDef& ftrl_update =
    define_update("FtrlUpdate", {.slots = 2,
                                 .attributes = {{"learning_rate_power", -0.5},
                                                {"l1_regularization_strength", 0.0},
                                                {"l2_regularization_strength", 0.0},
                                                {"l2_shrinkage_regularization_strength", 0.0},
                                                {"beta", 0.0}},
                                 .rounds = true});

}  // namespace

FtrlOptimizer::FtrlOptimizer(LearningRate learning_rate, FtrlOptions options)
    : SingleOpOptimizer(std::move(learning_rate), settings_of(options), options.name), options_(std::move(options)) {
  check();
}

void FtrlOptimizer::visit_fields(FieldVisitor& visitor) {
  Optimizer::visit_fields(visitor);
  visit_options(options_, visitor);
}

void FtrlOptimizer::fields_changed() {
  Optimizer::fields_changed();
  check();
}

void FtrlOptimizer::check() const {
  if (options_.learning_rate_power > 0.0) {
    throw invalid_argument("Ftrl", "learning_rate_power must not be above 0",
                           {{"learning_rate_power", options_.learning_rate_power}});
  }
  const std::pair<const char*, double> not_negative[] = {
      {"initial_accumulator_value", options_.initial_accumulator_value},
      {"l1_regularization_strength", options_.l1_regularization_strength},
      {"l2_regularization_strength", options_.l2_regularization_strength},
      {"l2_shrinkage_regularization_strength", options_.l2_shrinkage_regularization_strength}};
  for (const auto& [name, value] : not_negative) {
    if (value < 0.0) throw invalid_argument("Ftrl", std::string(name) + " must not be negative", {{name, value}});
  }
}

void FtrlOptimizer::make_slots(const Variables& variables) {
  add_slots(variables, {"accumulator", "linear"}, {options_.initial_accumulator_value, 0.0});
}

UpdateOp FtrlOptimizer::update_op() const {
  return {"FtrlUpdate",
          {{"learning_rate_power", options_.learning_rate_power},
           {"l1_regularization_strength", options_.l1_regularization_strength},
           {"l2_regularization_strength", options_.l2_regularization_strength},
           {"l2_shrinkage_regularization_strength", options_.l2_shrinkage_regularization_strength},
           {"beta", options_.beta}}};
}

COHORT_REGISTER(Optimizer, FtrlOptimizer, "Ftrl", "ftrl");

Ftrl::Ftrl(LearningRate learning_rate, FtrlOptions options)
    : Handle(std::make_shared<FtrlOptimizer>(std::move(learning_rate), std::move(options))) {}

}  // namespace cohort::optimizers
