#pragma once

#include <optional>
#include <vector>

#include "cohort/model/layer/layer.h"

// How recurrent layers are called: on tensors and on symbols, with states to start from and states to return.
namespace cohort::layers {

// How a recurrent layer may be called beside its sequences.
struct RnnCallOptions {
  // States to start from, one tensor (batch, ...) for each state of the cell. Empty: zeros or, in a stateful layer, the
  // states after the last batch.
  Tensors initial_state = {};
  // Steps that count, (batch, steps) of booleans. Undefined: the mask the sequences carry, or all steps.
  Tensor mask = {};
  // Whether dropout is active. None: as in the layer call around this one, false outside of any.
  std::optional<bool> training = std::nullopt;
};
// The same for a call on symbols.
struct RnnSymbolOptions {
  std::vector<SymbolicTensor> initial_state = {};  // As in RnnCallOptions, of symbols.
};
// What a layer with return_state returns.
template <class T>
struct RnnOutput {
  T output;
  std::vector<T> states;
};

// The tensors of a call: bare sequences, a dict by Keras's names, or a tuple of sequences and states.
struct RnnInputs {
  Tensor sequences;
  Tensors initial_state;
  Tensor mask;
};
// Takes the tensors of a call apart.
RnnInputs rnn_inputs(const Element& inputs, const Element& mask);
// The reverse: what a recurrent layer is called with.
template <class T>
Tree<T> rnn_arguments(const T& sequences, const std::vector<T>& initial_state) {
  if (initial_state.empty()) return sequences;
  return Tree<T>::dict(
      {{"sequences", sequences}, {"initial_state", Tree<T>::tuple({initial_state.begin(), initial_state.end()})}});
}

// Calls for handles: LSTM(8)(x, {.initial_state = {h, c}}).
RnnOutput<Tensor> call_rnn(Layer& layer, const Tensor& sequences, const RnnCallOptions& options);
RnnOutput<SymbolicTensor> call_rnn(Layer& layer, const SymbolicTensor& sequences, const RnnSymbolOptions& options);
// Throws: the layer returns more than its output.
[[noreturn]] void refuse_states(const Layer& layer);

// The handle of a recurrent layer: layer(x), layer(x, {.initial_state = {h, c}}).
template <class Body>
struct RnnHandle : LayerHandle<Body> {
  using LayerHandle<Body>::LayerHandle;
  // The output; on tensors it throws where the layer returns states too, on symbols these follow the output.
  Tensor operator()(const Tensor& sequences, const RnnCallOptions& options = {}) const {
    RnnOutput<Tensor> result = call_rnn(*this->get(), sequences, options);
    if (!result.states.empty()) refuse_states(*this->get());
    return result.output;
  }
  SymbolicOutputs operator()(const SymbolicTensor& sequences, const RnnSymbolOptions& options = {}) const {
    return SymbolicOutputs(this->get()->apply_symbols(rnn_arguments(sequences, options.initial_state)));
  }
  // The output and, with return_state, the last states.
  RnnOutput<Tensor> with_states(const Tensor& sequences, const RnnCallOptions& options = {}) const {
    return call_rnn(*this->get(), sequences, options);
  }
  RnnOutput<SymbolicTensor> with_states(const SymbolicTensor& sequences, const RnnSymbolOptions& options = {}) const {
    return call_rnn(*this->get(), sequences, options);
  }
};

}  // namespace cohort::layers
