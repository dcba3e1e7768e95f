#pragma once

#include <string>

#include "cohort/layers/basic_options.h"
#include "cohort/model/layer/layer.h"

namespace cohort::layers {

class TimeDistributedLayer : public Layer {
 public:
  TimeDistributedLayer() { supports_masking_ = true; }
  explicit TimeDistributedLayer(Ref<Layer> layer, const NameOption& options = {});
  std::vector<std::string> argument_names() const override { return {"inputs", "mask"}; }
  void visit_fields(FieldVisitor& visitor) override;
  void fields_changed() override;
  void build(const Shape& input) override;
  Tensor call(const Tensor& input, const CallContext& context) override;

 private:
  Tensor call_step(const Tensor& input, const Tensor& mask, bool training);
  Ref<Layer> layer_;
};

// Applies a layer to every step of the input, with the same weights.
// Input (batch, steps, ...), output (batch, steps, ...), where the layer maps (batch, ...) to (batch, ...).
//   layer: the layer applied to each step; it must have one input and one output.
struct TimeDistributed : LayerHandle<TimeDistributedLayer> {
  explicit TimeDistributed(Ref<Layer> layer, NameOption options = {});
};

}  // namespace cohort::layers
