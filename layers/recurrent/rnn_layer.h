#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cohort/layers/recurrent/rnn_call.h"
#include "cohort/layers/recurrent/rnn_cell.h"
#include "cohort/model/layer/layer.h"

namespace cohort::layers {

// What all recurrent layers can be told, in their own options under the same names.
struct RnnSettings {
  bool return_sequences = false;
  bool return_state = false;
  bool go_backwards = false;
  bool stateful = false;
  bool unroll = false;
  // Whether masked steps give zeros; otherwise they repeat the output of the step before.
  bool zero_output_for_mask = false;
};
COHORT_FIELDS(RnnSettings, return_sequences, return_state, go_backwards, stateful, unroll, zero_output_for_mask)

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

  // What the layer was told, and what a wrapper may change of it.
  const RnnSettings& settings() const { return settings_; }
  void set_go_backwards(bool go_backwards) { settings_.go_backwards = go_backwards; }
  void set_zero_output_for_mask(bool zero) { settings_.zero_output_for_mask = zero; }
  // The cell that computes a step.
  const Ref<RnnCell>& cell() const { return cell_; }
  // Sets the states of a stateful layer to zeros.
  void reset_state();
  // The states of a stateful layer that is built, else none.
  const Variables& states() const { return states_; }

  // Makes a registered recurrent layer by its class name.
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
