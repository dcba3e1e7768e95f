#pragma once

#include <optional>
#include <string>

#include "cohort/layers/recurrent/rnn_layer.h"

namespace cohort::layers {

struct BidirectionalOptions {
  // How both outputs become one: 'concat' along the last axis, 'sum', 'mul' or 'ave' (mean). None: both are returned,
  // from with_states(): the forward one as the output, the backward one first among the states.
  std::optional<std::string> merge_mode = "concat";
  // Layer for the reversed sequences; of the two exactly one must have go_backwards, and they must agree in
  // return_sequences, return_state and stateful. None: made like `layer`.
  Ref<RnnLayer> backward_layer = {};
  DTypePolicy dtype = {};
  std::string name = {};
};

class BidirectionalLayer : public Layer {
 public:
  BidirectionalLayer() { supports_masking_ = true; }
  explicit BidirectionalLayer(const Ref<RnnLayer>& layer, const BidirectionalOptions& options = {});
  void visit_fields(FieldVisitor& visitor) override;
  void fields_changed() override;
  void build(const Shape& sequences) override;
  std::vector<std::string> argument_names() const override { return {"sequences", "initial_state", "mask"}; }
  Element call_element(const Element& inputs, const CallContext& context) override;
  Element compute_mask(const Element& inputs, const Element& mask) override;
  // Sets the states of stateful layers to zeros.
  void reset_state();
  // The layer that runs over the sequences as they are, and the one that runs over them from the end.
  const Ref<RnnLayer>& forward_layer() const { return forward_; }
  const Ref<RnnLayer>& backward_layer() const { return backward_; }

 private:
  void set_layers(const Ref<RnnLayer>& pattern, Ref<RnnLayer> backward);
  Tensor merge(const Tensor& forward, const Tensor& backward) const;
  Ref<RnnLayer> forward_, backward_;
  std::optional<std::string> merge_mode_;
};

// Runs a recurrent layer over the sequences and a second one over them from the end, and merges their outputs.
// Input (batch, steps, features), output (batch, 2 * units) with merge_mode 'concat', otherwise (batch, units); with
// return_sequences (batch, steps, ...). With return_state followed by the states of the forward and then of the
// backward layer, from with_states().
//   layer: a recurrent layer that serves as the pattern: the forward layer, and without backward_layer the backward one
//     too, are new layers with its options.
struct Bidirectional : RnnHandle<BidirectionalLayer> {
  explicit Bidirectional(const Ref<RnnLayer>& layer, BidirectionalOptions options = {});
};

}  // namespace cohort::layers
