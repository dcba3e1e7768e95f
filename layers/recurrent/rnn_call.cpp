#include "cohort/layers/recurrent/rnn_call.h"

#include "cohort/model/layer/layer_call_scope.h"

namespace cohort::layers {

RnnInputs rnn_inputs(const Element& inputs, const Element& mask) {
  RnnInputs result;
  const auto leaf_of = [](const Element* tree) { return tree && tree->is_leaf() ? tree->leaf() : Tensor(); };
  if (inputs.is_leaf()) {
    result.sequences = inputs.leaf();
    result.mask = leaf_of(&mask);
  } else if (inputs.kind() == Element::Kind::Dict) {
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (inputs.key(i) == "initial_state") {
        inputs[i].flatten_into(result.initial_state);
      } else if (inputs.key(i) == "mask") {
        result.mask = leaf_of(&inputs[i]);
      } else {
        result.sequences = leaf_of(&inputs[i]);
        if (!result.mask.defined()) result.mask = leaf_of(mask.find(inputs.key(i)));
      }
    }
  } else if (!inputs.empty()) {
    result.initial_state = inputs.flatten();
    result.sequences = result.initial_state.front();
    result.initial_state.erase(result.initial_state.begin());
    if (!mask.empty()) result.mask = mask.flatten().front();
  }
  return result;
}

RnnOutput<Tensor> call_rnn(Layer& layer, const Tensor& sequences, const RnnCallOptions& options) {
  const Element inputs = rnn_arguments(sequences, options.initial_state);
  CallContext context{.training = options.training.value_or(LayerCallScope::training())};
  if (options.mask.defined()) {
    Tensors masks(inputs.flatten().size());
    masks[0] = options.mask;
    context.mask = inputs.with_leaves(masks);
  }
  Tensors outputs = layer.apply(inputs, context).flatten();
  RnnOutput<Tensor> result{outputs.at(0), {}};
  result.states.assign(outputs.begin() + 1, outputs.end());
  return result;
}

RnnOutput<SymbolicTensor> call_rnn(Layer& layer, const SymbolicTensor& sequences, const RnnSymbolOptions& options) {
  const std::vector<SymbolicTensor> outputs =
      layer.apply_symbols(rnn_arguments(sequences, options.initial_state)).flatten();
  RnnOutput<SymbolicTensor> result{outputs.at(0), {}};
  result.states.assign(outputs.begin() + 1, outputs.end());
  return result;
}

void refuse_states(const Layer& layer) {
  throw failed_precondition(layer.title(), "a layer that returns more than its output is called with with_states()", {},
                            "Or leave out return_state.");
}

}  // namespace cohort::layers
