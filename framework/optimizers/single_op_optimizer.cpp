#include "cohort/optimizers/single_op_optimizer.h"

#include "cohort/core/dispatch.h"
#include "cohort/core/update_layout.h"
#include "cohort/ops/cast.h"
#include "cohort/ops/math.h"
#include "cohort/variables/shards.h"

namespace cohort {

void run_update(const UpdateOp& op, const Variable& variable, const Variables& slots, const DenseGradient& gradient,
                const Tensor& learning_rate, double weight_decay) {
  Tensors inputs = {variable.handle()};
  for (const Variable& slot : slots) inputs.push_back(slot.handle());
  inputs.push_back(ops::cast(gradient.sum, variable.dtype()));
  if (!inputs.back().shape().compatible(variable.shape())) {
    throw invalid_argument(op.name, "a gradient must have the shape of its variable",
                           {{"gradient.shape", inputs.back().shape()},
                            {"variable", variable.path()},
                            {"variable.shape", variable.shape()}});
  }
  const bool has_each = gradient.of_each.defined();
  if (has_each) inputs.push_back(ops::cast(gradient.of_each, variable.dtype()));
  inputs.push_back(ops::cast(learning_rate, DType::Float32));
  inputs.insert(inputs.end(), op.shared.begin(), op.shared.end());

  Attributes attributes = UpdateLayout::attributes(static_cast<int>(slots.size()), has_each);
  attributes.set("weight_decay", weight_decay);
  for (const Attributes::Entry& option : op.options) attributes.set(option.name, option.value);
  run_op_all(op.name, inputs, attributes);
}

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
  Variables slots;
  for (const Variables& each : slots_) slots.push_back(each[static_cast<std::size_t>(index_of(variable))]);
  run_update(update_op(), variable, slots, dense(gradient), learning_rate, weight_decay_of(variable));
}

}  // namespace cohort
