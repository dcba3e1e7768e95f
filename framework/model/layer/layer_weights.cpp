#include <unordered_set>

#include "cohort/graph/trace.h"
#include "cohort/model/layer/layer.h"
#include "cohort/model/layer/layer_call_scope.h"

namespace cohort {

Variable Layer::add_weight(const std::string& name, const Shape& shape, WeightOptions options) {
  EagerScope eager;
  if (!shape.fully_known()) {
    throw invalid_argument(title(), "a weight needs a shape that is known", {{"weight", name}, {"shape", shape}},
                           "Give the input's last axis a size.");
  }
  Ref<Initializer> initializer = options.initializer;
  const DType dtype = options.dtype.value_or(this->dtype());
  if (!initializer) initializer = is_floating(dtype) ? "glorot_uniform" : "zeros";
  const std::string scope(NameScope::current());
  Variable variable(InitialValue(*initializer, shape, dtype),
                    {.name = name,
                     .trainable = options.trainable && trainable_,
                     .dtype = dtype,
                     .aggregation = options.aggregation,
                     .synchronization = options.synchronization,
                     .path = (scope.empty() ? this->name() : scope) + "/" + name,
                     .autocast = options.autocast});
  if (options.constraint) variable.set_constraint(options.constraint);
  weights_.push_back({name, variable, options.regularizer, options.trainable});
  own_weights_.emplace_back(name, variable);
  return variable;
}

Variable LayerCallScope::share_weight(Layer& outer, const Layer& inner, const std::string& name) {
  for (const Layer::Weight& weight : inner.weights_) {
    if (weight.name != name) continue;
    outer.weights_.push_back(weight);
    outer.own_weights_.emplace_back(name, weight.variable);
    return weight.variable;
  }
  throw not_found(outer.title(), "the layer inside must have the weight", {{"weight", name}, {"layer", inner.title()}});
}

void Layer::set_trainable(bool trainable) {
  trainable_ = trainable;
  for (Weight& weight : weights_) {
    if (weight.made_trainable) weight.variable.set_trainable(trainable);
  }
  for (const auto& [name, layer] : sublayers_) layer->set_trainable(trainable);
}

// Own trainable weights, own others, then the sub-layers'; a shared weight once.
void Layer::collect_weights(std::vector<const Weight*>& weights) const {
  const auto add = [&](const Weight& weight) {
    for (const Weight* known : weights) {
      if (known->variable == weight.variable) return;
    }
    weights.push_back(&weight);
  };
  for (const Weight& weight : weights_) {
    if (weight.made_trainable) add(weight);
  }
  for (const Weight& weight : weights_) {
    if (!weight.made_trainable) add(weight);
  }
  for (const auto& [name, layer] : sublayers_) layer->collect_weights(weights);
}

Variables Layer::weights() const {
  std::vector<const Weight*> all;
  collect_weights(all);
  Variables variables;
  for (const Weight* weight : all) variables.push_back(weight->variable);
  return variables;
}

Variables Layer::trainable_variables() const {
  Variables variables;
  if (!trainable_) return variables;
  for (Variable& variable : weights()) {
    if (variable.trainable()) variables.push_back(std::move(variable));
  }
  return variables;
}

Variables Layer::non_trainable_variables() const {
  Variables all = weights();
  if (!trainable_) return all;
  Variables variables;
  for (Variable& variable : all) {
    if (!variable.trainable()) variables.push_back(std::move(variable));
  }
  return variables;
}

std::int64_t Layer::count_params() const {
  std::int64_t count = 0;
  for (const Variable& variable : weights()) count += variable.shape().num_elements();
  return count;
}

std::vector<Tensor> Layer::get_weights() const {
  std::vector<Tensor> values;
  for (const Variable& variable : weights()) values.push_back(read_now(variable));
  return values;
}

void Layer::set_weights(const std::vector<Tensor>& values) {
  const Variables variables = weights();
  const std::string who = title();
  if (values.size() != variables.size()) {
    throw invalid_argument(who, "set_weights takes one tensor for each weight",
                           {{"len(values)", values.size()}, {"len(weights)", variables.size()}},
                           variables.empty() ? "Build the layer first." : "");
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!values[i].defined() || !(values[i].shape() == variables[i].shape())) {
      throw invalid_argument(who, "a weight's new value must have its shape",
                             {{"weight", variables[i].path()},
                              {"weight.shape", variables[i].shape()},
                              {"value.shape", values[i].defined() ? values[i].shape().to_string() : "none"}});
    }
  }
  for (std::size_t i = 0; i < values.size(); ++i) write_now(variables[i], values[i]);
}

}  // namespace cohort
