#include "cohort/optimizers/nadam.h"

#include "cohort/core/update_op.h"
#include "cohort/ops/math.h"

namespace cohort::optimizers {
namespace {

// (variable, momentum, velocity, gradient; learning_rate, iterations, product of the momentum factors so far)
[[maybe_unused]] const OpDef& nadam_update =
    define_update("NadamUpdate", {.slots = 2,
                                  .shared = {kLearningRate, kIterations, {"product", DType::Float32}},
                                  .attributes = {{"beta_1", 0.9}, {"beta_2", 0.999}, {"epsilon", 1e-7}},
                                  .rounds = true});

}  // namespace

NadamOptimizer::NadamOptimizer(LearningRate learning_rate, NadamOptions options)
    : SingleOpOptimizer(std::move(learning_rate), settings_of(options), options.name), options_(std::move(options)) {}

void NadamOptimizer::visit_fields(FieldVisitor& visitor) {
  Optimizer::visit_fields(visitor);
  visit_options(options_, visitor);
}

void NadamOptimizer::make_slots(const Variables& variables) {
  add_slots(variables, {"momentum", "velocity"});
  u_product_ = add_state("variable", Tensor::scalar(1.0));  // Keras leaves it unnamed
  u_product_.set_path("variable");
}

void NadamOptimizer::begin_update() {
  const Tensor step = ops::cast(updates_done(), DType::Float32) + 1.0;
  product_ = u_product_.value() * options_.beta_1 * (1.0 - ops::pow(0.96, step) * 0.5);
  u_product_.assign(product_);
}

UpdateOp NadamOptimizer::update_op() const {
  return {"NadamUpdate",
          {{"beta_1", options_.beta_1}, {"beta_2", options_.beta_2}, {"epsilon", options_.epsilon}},
          {updates_done(), product_}};
}

COHORT_REGISTER(Optimizer, NadamOptimizer, "Nadam", "nadam");

Nadam::Nadam(LearningRate learning_rate, NadamOptions options)
    : Handle(std::make_shared<NadamOptimizer>(std::move(learning_rate), std::move(options))) {}

}  // namespace cohort::optimizers
