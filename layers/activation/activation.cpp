#include "cohort/layers/activation/activation.h"
#include "cohort/model/layer/layer_activation.h"

namespace cohort::layers {

ActivationLayer::ActivationLayer(Ref<cohort::Activation> activation, NameOption options)
    : activation_(std::move(activation)) {
  supports_masking_ = true;
  take_options(options);
}

void ActivationLayer::visit_fields(FieldVisitor& visitor) {
  Layer::visit_fields(visitor);
  visitor.field("activation", activation_);
}

Tensor ActivationLayer::call(const Tensor& input, const CallContext&) {
  return activation_ ? (*activation_)(input) : input;
}

COHORT_REGISTER(Layer, ActivationLayer, "Activation");
[[maybe_unused]] static const bool activation_as_activation = register_layer_as_activation("Activation");

Activation::Activation(Ref<cohort::Activation> activation, NameOption options)
    : LayerHandle<ActivationLayer>(std::make_shared<ActivationLayer>(std::move(activation), std::move(options))) {}

}  // namespace cohort::layers
