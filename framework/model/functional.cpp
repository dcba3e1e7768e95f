#include "cohort/model/functional.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <unordered_map>
#include <unordered_set>

#include "cohort/core/dispatch.h"
#include "cohort/core/masks.h"
#include "cohort/core/text.h"
#include "cohort/model/layer/layer_arguments.h"
#include "cohort/model/layer/layer_call_scope.h"

namespace cohort {
namespace {

using Place = std::pair<const LayerCall*, int>;
Place place_of(const SymbolicTensor& symbol) { return {symbol.source().get(), symbol.output()}; }

// The symbols of a tree as Keras lists them: members of a dict by their keys, in whichever order they were given.
void list_sorted(const Tree<SymbolicTensor>& tree, std::vector<SymbolicTensor>& symbols) {
  if (tree.is_leaf()) symbols.push_back(tree.leaf());
  std::vector<std::size_t> order(tree.size());
  std::iota(order.begin(), order.end(), 0);
  if (tree.kind() == Symbols::Kind::Dict) {
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return tree.key(a) < tree.key(b); });
  }
  for (const std::size_t i : order) list_sorted(tree[i], symbols);
}

// Puts the calls behind a symbol into `calls`, each after those it needs.
void visit(const SymbolicTensor& symbol, const std::map<Place, int>& known,
           std::unordered_set<const LayerCall*>& visited, std::vector<std::shared_ptr<LayerCall>>& calls,
           std::vector<const Layer*>& met) {
  const std::shared_ptr<LayerCall>& call = symbol.source();
  if (!visited.insert(call.get()).second) return;
  if (std::find(met.begin(), met.end(), call->layer.get()) == met.end()) met.push_back(call->layer.get());
  if (!known.count(place_of(symbol))) {
    for (const SymbolicTensor& input : call->inputs.flatten()) visit(input, known, visited, calls, met);
  }
  calls.push_back(call);
}

}  // namespace

FunctionalGraph::FunctionalGraph(Symbols inputs, Symbols outputs, const std::string& who)
    : inputs_(std::move(inputs)), outputs_(std::move(outputs)), who_(who) {
  std::map<Place, int> slots;
  for (const SymbolicTensor& input : inputs_.flatten()) {
    if (!input.defined()) throw invalid_argument(who_, "inputs must be symbols made by Input");
    input_slots_.push_back(slots_);
    if (!slots.emplace(place_of(input), slots_++).second) {
      throw invalid_argument(who_, "an input may be given once", {{"input", input.source()->layer->name()}});
    }
  }
  const std::map<Place, int> given = slots;
  order_layers();
  for (const std::shared_ptr<LayerCall>& call : calls_) {
    const int produced = static_cast<int>(call->outputs.flatten().size());
    if (call->inputs.empty()) {
      if (given.count({call.get(), 0})) continue;
      throw invalid_argument(who_, "every output must come from the inputs given",
                             {{"missing input", call->layer->name()}}, "Add it to the model's inputs.");
    }
    if (given.count({call.get(), 0})) continue;  // cut off: the model begins behind this layer
    Step step{call.get(), {}, slots_};
    for (const SymbolicTensor& input : call->inputs.flatten()) step.inputs.push_back(slots.at(place_of(input)));
    for (int i = 0; i < produced; ++i) slots[{call.get(), i}] = slots_++;
    steps_.push_back(std::move(step));
  }
  for (const SymbolicTensor& output : outputs_.flatten()) output_slots_.push_back(slots.at(place_of(output)));
}

// Keras's order: layers by their distance from the outputs, farthest first; among equals as met from the outputs.
void FunctionalGraph::order_layers() {
  std::map<Place, int> known;
  for (const SymbolicTensor& input : inputs_.flatten()) known[place_of(input)] = 0;
  std::unordered_set<const LayerCall*> visited;
  std::vector<const Layer*> met;
  std::vector<SymbolicTensor> outputs;
  list_sorted(outputs_, outputs);
  for (const SymbolicTensor& output : outputs) {
    if (!output.defined()) throw invalid_argument(who_, "outputs must be symbols made by calling layers");
    visit(output, known, visited, calls_, met);
  }

  std::unordered_map<const LayerCall*, int> call_depth;
  std::unordered_map<const Layer*, int> layer_depth;
  for (auto it = calls_.rbegin(); it != calls_.rend(); ++it) {
    const LayerCall* call = it->get();
    const int depth = std::max(call_depth[call], layer_depth[call->layer.get()]);
    call_depth[call] = layer_depth[call->layer.get()] = depth;
    if (known.count({call, 0})) continue;
    for (const SymbolicTensor& input : call->inputs.flatten()) {
      int& above = call_depth[input.source().get()];
      above = std::max(above, depth + 1);
    }
    if (call->inputs.flatten().size() > 1) is_chain_ = false;
  }
  for (const SymbolicTensor& input : inputs_.flatten()) {  // inputs that nothing uses
    const Layer* layer = input.source()->layer.get();
    if (!layer_depth.count(layer)) {
      layer_depth[layer] = 0;
      met.insert(met.begin(), layer);
      calls_.insert(calls_.begin(), input.source());
    }
  }
  for (const Layer* layer : met) {
    const auto call = std::find_if(calls_.begin(), calls_.end(),
                                   [&](const std::shared_ptr<LayerCall>& each) { return each->layer.get() == layer; });
    layers_.push_back((*call)->layer);
  }
  std::stable_sort(layers_.begin(), layers_.end(), [&](const Ref<Layer>& a, const Ref<Layer>& b) {
    return layer_depth.at(a.get()) > layer_depth.at(b.get());
  });
  std::map<int, int> at_depth;
  for (const std::shared_ptr<LayerCall>& call : calls_) {
    if (++at_depth[call_depth[call.get()]] > 1) is_chain_ = false;
  }
  if (calls_.size() != layers_.size()) is_chain_ = false;
}

std::vector<std::string> FunctionalGraph::input_names() const {
  std::vector<std::string> names;
  const std::vector<SymbolicTensor> symbols = inputs_.flatten();
  for (std::size_t i = 0; i < symbols.size(); ++i) {
    const bool keyed = inputs_.kind() == Symbols::Kind::Dict && inputs_.size() == symbols.size();
    names.push_back(keyed ? inputs_.key(i) : symbols[i].source()->layer->name());
  }
  return names;
}

std::vector<std::string> FunctionalGraph::output_names() const {
  std::vector<std::string> names;
  const std::vector<SymbolicTensor> symbols = outputs_.flatten();
  for (std::size_t i = 0; i < symbols.size(); ++i) {
    const bool keyed = outputs_.kind() == Symbols::Kind::Dict && outputs_.size() == symbols.size();
    names.push_back(keyed ? outputs_.key(i) : symbols[i].source()->layer->name());
  }
  return names;
}

Tensors FunctionalGraph::in_order(const Element& inputs) const {
  if (inputs.kind() != Element::Kind::Dict) return inputs.flatten();
  Tensors tensors;
  for (const std::string& name : input_names()) {
    const Element* found = inputs.find(name);
    if (!found || !found->is_leaf()) {
      throw invalid_argument(who_, "a tensor for each input is expected", {{"missing", in_quotes(name)}});
    }
    tensors.push_back(found->leaf());
  }
  return tensors;
}

Tensors FunctionalGraph::bind(const Element& inputs) const {
  const std::vector<SymbolicTensor> symbols = inputs_.flatten();
  const std::vector<std::string> names = input_names();
  Tensors tensors = in_order(inputs);
  if (tensors.size() != symbols.size()) {
    throw invalid_argument(who_, "a tensor for each input is expected",
                           {{"inputs", tensors.size()}, {"expected", symbols.size()}});
  }
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    // As in Keras, a batch of any size is taken where the Input names one.
    Shape expected = symbols[i].shape();
    if (expected.rank() > 0) expected[0] = kUnknown;
    if (!tensors[i].shape().compatible(expected)) {
      throw invalid_argument(who_, "input '" + names[i] + "' must have shape " + expected.to_string(),
                             {{"shape", tensors[i].shape()}});
    }
    if (is_floating(tensors[i].dtype()) && tensors[i].dtype() != symbols[i].dtype()) {
      const Tensor mask = mask_of(tensors[i]);
      tensors[i] = run_op("Cast", {tensors[i]}, {{"dtype", symbols[i].dtype()}});
      if (mask.defined()) set_mask(tensors[i], mask);
    }
  }
  return tensors;
}

Element FunctionalGraph::run(const Element& inputs, const CallContext& context) const {
  Tensors values(static_cast<std::size_t>(slots_)), masks(static_cast<std::size_t>(slots_));
  const Tensors given = bind(inputs), given_masks = in_order(context.mask);
  for (std::size_t i = 0; i < given.size(); ++i) {
    values[static_cast<std::size_t>(input_slots_[i])] = given[i];
    if (i >= given_masks.size() || !given_masks[i].defined()) continue;
    masks[static_cast<std::size_t>(input_slots_[i])] = given_masks[i];
    set_mask(given[i], given_masks[i]);
  }
  for (const Step& step : steps_) {
    Tensors arguments, argument_masks;
    for (int slot : step.inputs) {
      arguments.push_back(values[static_cast<std::size_t>(slot)]);
      argument_masks.push_back(masks[static_cast<std::size_t>(slot)]);
    }
    const Symbols& like = step.call->inputs;
    CallContext call{.training = context.training, .arguments = step.call->arguments};
    if (step.call->arguments.has("training") && !LayerCallScope::training_said()) {
      call.training = step.call->arguments.get<bool>("training");
      call.training_said = true;
    }
    // Inputs by place are given their masks: one tensor may come twice, with two of them. Which of the masks that named
    // arguments carry a layer sees is up to its call.
    const bool named = is_called_by_name(*step.call->layer, like);
    if (!named) call.mask = like.with_leaves(argument_masks);
    const Tensors results = step.call->layer->apply(like.with_leaves(arguments), call).flatten();
    for (std::size_t i = 0; i < results.size(); ++i) {
      values[static_cast<std::size_t>(step.first_output) + i] = results[i];
      masks[static_cast<std::size_t>(step.first_output) + i] = mask_of(results[i]);
    }
  }
  Tensors results;
  for (int slot : output_slots_) results.push_back(values[static_cast<std::size_t>(slot)]);
  return outputs_.with_leaves(results);
}

}  // namespace cohort
