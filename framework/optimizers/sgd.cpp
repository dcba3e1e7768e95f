#include "cohort/optimizers/sgd.h"

#include "cohort/ops/math.h"
#include "cohort/optimizers/update_op.h"

namespace cohort::optimizers {

SGDOptimizer::SGDOptimizer(LearningRate learning_rate, SGDOptions options)
    : Optimizer(std::move(learning_rate), settings_of(options), options.name), options_(std::move(options)) {
  if (options_.momentum < 0.0 || options_.momentum > 1.0) {
    throw invalid_argument("SGD", "momentum must lie in [0, 1]", {{"momentum", options_.momentum}});
  }
}

void SGDOptimizer::visit_fields(FieldVisitor& visitor) {
  Optimizer::visit_fields(visitor);
  visitor.field("momentum", options_.momentum);
  visitor.field("nesterov", options_.nesterov);
}

void SGDOptimizer::fields_changed() {
  Optimizer::fields_changed();
  if (options_.momentum < 0.0 || options_.momentum > 1.0) {
    throw invalid_argument("SGD", "momentum must lie in [0, 1]", {{"momentum", options_.momentum}});
  }
}

void SGDOptimizer::build(const Variables& variables) {
  if (built()) return;
  Optimizer::build(variables);
  if (options_.momentum == 0.0) return;
  for (const Variable& variable : variables) momentums_.push_back(add_slot(variable, "momentum"));
}

void SGDOptimizer::update_step(const Gradient& gradient, const Variable& variable, const Tensor& learning_rate) {
  const double decay = weight_decay_of(variable);
  if (options_.momentum != 0.0) {
    const Variable& momentum = momentums_[static_cast<std::size_t>(index_of(variable))];
    run_update("MomentumUpdate", {variable, momentum}, gradient, {learning_rate},
               {{"weight_decay", decay}, {"momentum", options_.momentum}, {"nesterov", options_.nesterov}});
  } else if (gradient.is_slices() && decay == 0.0) {
    // Touches the rows that have a gradient, not the whole table.
    const IndexedSlices& slices = gradient.slices();
    const Tensor rate = ops::cast(learning_rate, variable.dtype());
    Variable(variable).scatter_add(slices.indices, ops::cast(slices.values, variable.dtype()) * -rate);
  } else {
    run_update("SGDUpdate", {variable}, gradient, {learning_rate}, {{"weight_decay", decay}});
  }
}

namespace {

[[maybe_unused]] const bool registered =
    Optimizer::registry().add("SGD", [] { return std::make_shared<SGDOptimizer>(); }, {"sgd"});

}  // namespace
}  // namespace cohort::optimizers
