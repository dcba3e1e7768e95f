#pragma once

#include <string>

#include "cohort/layers/basic_options.h"
#include "cohort/model/layer/activation.h"
#include "cohort/model/layer/layer.h"

namespace cohort::layers {

class ActivationLayer : public Layer {
 public:
  ActivationLayer() : ActivationLayer("linear") {}
  explicit ActivationLayer(Ref<cohort::Activation> activation, NameOption options = {});
  void visit_fields(FieldVisitor& visitor) override;
  Tensor call(const Tensor& input, const CallContext& context) override;

 private:
  Ref<cohort::Activation> activation_;
};

// Applies an activation function.
// Input any shape, output the same shape.
//   activation: the function, by its name in keras.activations ('relu', 'softmax', ...) or as an object; empty: none.
struct Activation : LayerHandle<ActivationLayer> {
  explicit Activation(Ref<cohort::Activation> activation, NameOption options = {});
};

}  // namespace cohort::layers
