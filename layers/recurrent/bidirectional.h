#pragma once

#include <optional>
#include <string>

#include "cohort/layers/recurrent/rnn_layer.h"

namespace cohort::layers {

struct BidirectionalOptions {
  std::optional<std::string> merge_mode = "concat";  // or "sum", "mul", "ave"; none: both outputs, not merged
  Ref<RnnLayer> backward_layer = {};                 // none: like the forward one
  DTypePolicy dtype = {};
  std::string name = {};
};

// A recurrent layer over the sequences and a second one over them from the end: (batch, steps, features) to the merged
// outputs of both, then the states of both with return_state. The layer given serves as a pattern.
class BidirectionalLayer : public Layer {
 public:
  BidirectionalLayer() { supports_masking_ = true; }
  explicit BidirectionalLayer(const Ref<RnnLayer>& layer, const BidirectionalOptions& options = {});
  std::string class_name() const override { return "Bidirectional"; }
  void visit_fields(FieldVisitor& visitor) override;
  void fields_changed() override;
  void build(const Shape& sequences) override;
  std::vector<std::string> argument_names() const override { return {"sequences", "initial_state", "mask"}; }
  Element call_element(const Element& inputs, const CallContext& context) override;
  Element compute_mask(const Element& inputs, const Element& mask) override;
  // Sets the states of stateful layers to zeros.
  void reset_state();
  const Ref<RnnLayer>& forward_layer() const { return forward_; }
  const Ref<RnnLayer>& backward_layer() const { return backward_; }

 private:
  void set_layers(const Ref<RnnLayer>& pattern, Ref<RnnLayer> backward);
  Tensor merge(const Tensor& forward, const Tensor& backward) const;
  Ref<RnnLayer> forward_, backward_;
  std::optional<std::string> merge_mode_;
};

struct Bidirectional : RnnHandle<BidirectionalLayer> {
  explicit Bidirectional(const Ref<RnnLayer>& layer, BidirectionalOptions options = {})
      : RnnHandle<BidirectionalLayer>(std::make_shared<BidirectionalLayer>(layer, options)) {}
};

}  // namespace cohort::layers
