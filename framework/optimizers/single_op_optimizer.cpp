#include "cohort/optimizers/single_op_optimizer.h"

#include "cohort/core/dispatch.h"
#include "cohort/ops/cast.h"
#include "cohort/ops/math.h"
#include "cohort/optimizers/squares.h"
#include "cohort/variables/shards.h"

namespace cohort {

void SingleOpOptimizer::build(const Variables& variables) {
  if (built()) return;
  const Variables shards = shards_of(variables);
  Optimizer::build(shards);
  make_slots(shards);
}

void SingleOpOptimizer::add_slots(const Variables& variables, std::initializer_list<const char*> names,
                                  double initial) {
  add_slots(variables, names, std::vector<double>(names.size(), initial));
}

void SingleOpOptimizer::add_slots(const Variables& variables, std::initializer_list<const char*> names,
                                  std::vector<double> initial) {
  std::vector<Variables> added(names.size());
  for (const Variable& variable : variables) {
    std::size_t i = 0;
    for (const char* name : names) {
      added[i].push_back(add_slot(variable, name, initial[i]));
      ++i;
    }
  }
  slots_.insert(slots_.end(), added.begin(), added.end());
}

const Variable& SingleOpOptimizer::slot_of(const Variable& variable, std::size_t number) const {
  return slots_[number][static_cast<std::size_t>(index_of(variable))];
}

void SingleOpOptimizer::update_step(const Gradient& gradient, const Variable& variable, const Tensor& learning_rate) {
  const auto i = static_cast<std::size_t>(index_of(variable));
  const UpdateOp op = update_op();
  Tensors inputs = {variable.handle()};
  for (const Variables& slots : slots_) inputs.push_back(slots[i].handle());
  inputs.push_back(ops::cast(gradient.dense(), variable.dtype()));
  if (!inputs.back().shape().compatible(variable.shape())) {
    throw invalid_argument(op.name, "a gradient must have the shape of its variable",
                           {{"gradient.shape", inputs.back().shape()},
                            {"variable", variable.path()},
                            {"variable.shape", variable.shape()}});
  }
  const bool squares = gradient.is_slices() && squares_gradients();
  if (squares) {
    inputs.push_back(ops::cast(squares_of(gradient), variable.dtype()));
  }
  inputs.push_back(ops::cast(learning_rate, DType::Float32));
  inputs.insert(inputs.end(), op.shared.begin(), op.shared.end());

  Attributes attributes = {{"weight_decay", weight_decay_of(variable)}};
  for (const Attributes::Entry& option : op.options) attributes.set(option.name, option.value);
  attributes.set("count", 1);
  attributes.set("groups", static_cast<int>(slots_.size()) + (squares ? 3 : 2));
  if (squares) attributes.set("squares", true);
  run_op_all(op.name, inputs, attributes);
}

}  // namespace cohort
