#include "cohort/optimizers/sgd.h"

#include "cohort/core/update_op.h"
#include "cohort/ops/math.h"

namespace cohort::optimizers {
namespace {

// (variable, gradient; learning_rate)
[[maybe_unused]] const OpDef& sgd_update = define_update("SGDUpdate", {.rounds = true});
// (variable, momentum, gradient; learning_rate)
[[maybe_unused]] const OpDef& momentum_update = define_update(
    "MomentumUpdate", {.slots = 1, .attributes = {{"momentum", 0.0}, {"nesterov", false}}, .rounds = true});

void check_momentum(double momentum) {
  if (momentum < 0.0 || momentum > 1.0) {
    throw invalid_argument("SGD", "momentum must lie in [0, 1]", {{"momentum", momentum}});
  }
}

}  // namespace

SGDOptimizer::SGDOptimizer(LearningRate learning_rate, SGDOptions options)
    : SingleOpOptimizer(std::move(learning_rate), settings_of(options), options.name), options_(std::move(options)) {
  check_momentum(options_.momentum);
}

void SGDOptimizer::visit_fields(FieldVisitor& visitor) {
  Optimizer::visit_fields(visitor);
  visit_options(options_, visitor);
}

void SGDOptimizer::fields_changed() {
  Optimizer::fields_changed();
  check_momentum(options_.momentum);
}

void SGDOptimizer::make_slots(const Variables& variables) {
  if (options_.momentum != 0.0) add_slots(variables, {"momentum"});
}

void SGDOptimizer::update_step(const Gradient& gradient, const Variable& variable, const Tensor& learning_rate) {
  const bool rows_are_here = gradient.is_slices() && !gradient.slices().collective.defined();
  if (!rows_are_here || options_.momentum != 0.0 || weight_decay_of(variable) != 0.0) {
    return SingleOpOptimizer::update_step(gradient, variable, learning_rate);
  }
  // Touches the rows that have a gradient, not the whole table.
  const IndexedSlices& slices = gradient.slices();
  const Tensor rate = ops::cast(learning_rate, variable.dtype());
  Variable(variable).scatter_add(slices.indices, ops::cast(slices.values, variable.dtype()) * -rate);
}

UpdateOp SGDOptimizer::update_op() const {
  if (options_.momentum == 0.0) return {"SGDUpdate"};
  return {"MomentumUpdate", {{"momentum", options_.momentum}, {"nesterov", options_.nesterov}}};
}

COHORT_REGISTER(Optimizer, SGDOptimizer, "SGD", "sgd");

SGD::SGD(LearningRate learning_rate, SGDOptions options)
    : Handle(std::make_shared<SGDOptimizer>(std::move(learning_rate), std::move(options))) {}

}  // namespace cohort::optimizers
