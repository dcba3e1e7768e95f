#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cohort/layers/recurrent/rnn_cell.h"
#include "cohort/model/layer.h"

namespace cohort::layers {

// What all recurrent layers can be told, in their own options under the same names.
struct RnnSettings {
  bool return_sequences = false;
  bool return_state = false;
  bool go_backwards = false;
  bool stateful = false;
  bool unroll = false;
  bool zero_output_for_mask = false;
};

// How a recurrent layer may be called beside its sequences.
struct RnnCallOptions {
  Tensors initial_state = {};  // one for each state; none: zeros, or where the last batch ended (stateful)
  Tensor mask = {};            // (batch, steps); none: the one the sequences carry
  std::optional<bool> training = std::nullopt;  // none: as the layer call around this one, false outside of any
};
struct RnnSymbolOptions {
  std::vector<SymbolicTensor> initial_state = {};
};
// What a layer with return_state returns.
template <class T>
struct RnnOutput {
  T output;
  std::vector<T> states;
};

// Runs a cell over the steps of sequences (batch, steps, ...): to the last output (batch, ...) or, with
// return_sequences, all of them (batch, steps, ...), followed by the states with return_state. A masked step leaves the
// states as they are and repeats the output before it (zeros with zero_output_for_mask).
class RnnLayer : public Layer {
 public:
  RnnLayer(Ref<RnnCell> cell, RnnSettings settings);
  void visit_fields(FieldVisitor& visitor) override;
  void fields_changed() override;
  void build(const Shape& sequences) override;
  std::vector<std::string> argument_names() const override { return {"sequences", "initial_state", "mask"}; }
  Element call_element(const Element& inputs, const CallContext& context) override;
  Element compute_mask(const Element& inputs, const Element& mask) override;

  const RnnSettings& settings() const { return settings_; }
  void set_go_backwards(bool go_backwards) { settings_.go_backwards = go_backwards; }
  void set_zero_output_for_mask(bool zero) { settings_.zero_output_for_mask = zero; }
  const Ref<RnnCell>& cell() const { return cell_; }
  // Sets the states of a stateful layer to zeros.
  void reset_state();
  // The states of a stateful layer that is built, else none.
  const Variables& states() const { return states_; }

  static std::shared_ptr<RnnLayer> from_name(std::string_view name);

 protected:
  struct Rolled {
    Tensor output;  // the last, or all of them with return_sequences
    Tensors states;
  };
  // The whole sequence by one op, where the options allow it.
  virtual std::optional<Rolled> run_fused(const Tensor& sequences, const Tensors& initial, const Tensor& mask,
                                          const CallContext& context);
  // Number of axes of the sequences; 0: at least three.
  virtual int sequence_rank() const { return 3; }
  void set_cell(Ref<RnnCell> cell);

 private:
  Rolled run_steps(const Tensor& sequences, const Tensors& initial, const Tensor& mask, const CallContext& context);
  void check_sequences(const Shape& sequences) const;
  Tensors checked_initial_state(const Tensors& given, const Tensor& sequences) const;

  Ref<RnnCell> cell_;
  RnnSettings settings_;
  Variables states_;
};

// The tensors of a call: bare sequences, a dict by Keras's names, or a tuple of sequences and states.
struct RnnInputs {
  Tensor sequences;
  Tensors initial_state;
  Tensor mask;
};
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
[[noreturn]] void refuse_states(const Layer& layer);

template <class Body>
struct RnnHandle : LayerHandle<Body> {
  using LayerHandle<Body>::LayerHandle;
  Tensor operator()(const Tensor& sequences, const RnnCallOptions& options = {}) const {
    return only(call_rnn(*this->get(), sequences, options));
  }
  SymbolicTensor operator()(const SymbolicTensor& sequences, const RnnSymbolOptions& options = {}) const {
    return only(call_rnn(*this->get(), sequences, options));
  }
  // For layers with return_state: the output and the states.
  RnnOutput<Tensor> with_states(const Tensor& sequences, const RnnCallOptions& options = {}) const {
    return call_rnn(*this->get(), sequences, options);
  }
  RnnOutput<SymbolicTensor> with_states(const SymbolicTensor& sequences, const RnnSymbolOptions& options = {}) const {
    return call_rnn(*this->get(), sequences, options);
  }

 private:
  template <class T>
  T only(const RnnOutput<T>& result) const {
    if (!result.states.empty()) refuse_states(*this->get());
    return result.output;
  }
};

// The settings among a layer's options.
template <class Options>
RnnSettings rnn_settings(const Options& options) {
  RnnSettings settings{.return_sequences = options.return_sequences,
                       .return_state = options.return_state,
                       .go_backwards = options.go_backwards,
                       .stateful = options.stateful,
                       .zero_output_for_mask = options.zero_output_for_mask};
  if constexpr (requires { options.unroll; }) settings.unroll = options.unroll;
  return settings;
}

}  // namespace cohort::layers
