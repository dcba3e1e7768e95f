#include "cohort/saving/clone_model.h"

#include <map>

#include "cohort/model/functional.h"
#include "cohort/model/layer/input_layer.h"
#include "cohort/model/sequential.h"
#include "cohort/saving/json/layer_json.h"

namespace cohort {
namespace {

constexpr const char* kCloneModel = "clone_model";

Ref<Layer> same_again(const Ref<Layer>& layer) { return layer_from_json(layer_to_json(*layer)); }

Ref<Layer> checked(Ref<Layer> clone, const Ref<Layer>& of) {
  if (!clone) throw invalid_argument(kCloneModel, "clone_function must return a layer", {{"layer", of->name()}});
  return clone;
}

SymbolicTensor input_like(const SymbolicTensor& symbol) {
  const Shape& shape = symbol.shape();
  return Input(shape.slice(1),
               {.dtype = symbol.dtype(), .name = symbol.source()->layer->name(), .batch_size = shape[0]});
}

Ref<Model> clone_sequential(const Sequential& model, const CloneModelOptions& options) {
  std::vector<Ref<Layer>> layers;
  const std::vector<SymbolicTensor> inputs = options.input_tensors.flatten();
  if (inputs.size() > 1)
    throw invalid_argument(kCloneModel, "a Sequential has one input", {{"input_tensors", inputs.size()}});
  if (!inputs.empty()) {
    const Shape& shape = inputs[0].shape();
    layers.push_back(Ref<Layer>(std::make_shared<InputLayer>(
        shape.slice(1), InputOptions{.dtype = inputs[0].dtype(), .batch_size = shape[0]})));
  } else if (model.input_layer()) {
    layers.push_back(same_again(model.input_layer()));
  }
  for (const Ref<Layer>& layer : model.layers()) layers.push_back(checked(options.clone_function(layer), layer));
  auto clone = std::make_shared<Sequential>(layers, ModelOptions{.name = model.name()});
  if (!model.input_layer() && inputs.empty() && model.input_shape().rank() > 0) clone->build(model.input_shape());
  return Ref<Model>(std::static_pointer_cast<Model>(clone));
}

// Calls the clones as the layers were called, one symbol after the other.
Ref<Model> clone_functional(const Model& model, const CloneModelOptions& options) {
  const FunctionalGraph& graph = *model.functional();
  using Place = std::pair<const LayerCall*, int>;
  const auto place = [](const SymbolicTensor& symbol) { return Place(symbol.source().get(), symbol.output()); };
  std::map<Place, SymbolicTensor> made;
  const std::vector<SymbolicTensor> inputs = graph.inputs().flatten();
  Symbols given = options.input_tensors;
  if (given.empty()) given = Symbols(graph.inputs().map(input_like));
  const std::vector<SymbolicTensor> begin = given.flatten();
  if (begin.size() != inputs.size()) {
    throw invalid_argument(kCloneModel, "an input tensor for each input of the model is expected",
                           {{"input_tensors", begin.size()}, {"inputs", inputs.size()}});
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) made[place(inputs[i])] = begin[i];
  std::map<const Layer*, Ref<Layer>> clones;
  for (const std::shared_ptr<LayerCall>& call : graph.calls()) {
    if (made.count({call.get(), 0})) continue;
    Ref<Layer>& clone = clones[call->layer.get()];
    if (!clone) clone = checked(options.clone_function(call->layer), call->layer);
    const Symbols arguments(call->inputs.map([&](const SymbolicTensor& symbol) { return made.at(place(symbol)); }));
    const std::vector<SymbolicTensor> outputs = clone->apply_symbols(arguments, call->arguments).flatten();
    for (std::size_t i = 0; i < outputs.size(); ++i) made[{call.get(), static_cast<int>(i)}] = outputs[i];
  }
  const Symbols outputs(graph.outputs().map([&](const SymbolicTensor& symbol) { return made.at(place(symbol)); }));
  return Ref<Model>(
      std::make_shared<Model>(Symbols(graph.inputs().with_leaves(begin)), outputs, ModelOptions{.name = model.name()}));
}

}  // namespace

Ref<Model> clone_model(const Model& model, CloneModelOptions options) {
  if (!options.clone_function) options.clone_function = same_again;
  if (const auto* sequential = dynamic_cast<const Sequential*>(&model)) return clone_sequential(*sequential, options);
  if (model.functional() != nullptr) return clone_functional(model, options);
  throw unimplemented(kCloneModel, "a Sequential or a functional model is expected", {{"model", model.class_name()}},
                      "Make another object of its class and copy the weights with set_weights().");
}

}  // namespace cohort
