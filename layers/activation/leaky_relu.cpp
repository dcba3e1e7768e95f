#include "cohort/layers/activation/leaky_relu.h"

#include "cohort/model/activations.h"
#include "cohort/model/layer/layer_activation.h"

namespace cohort::layers {

LeakyReLULayer::LeakyReLULayer(LeakyReLUOptions options) : options_(std::move(options)) {
  supports_masking_ = true;
  take_options(options_);
}

void LeakyReLULayer::visit_fields(FieldVisitor& visitor) {
  Layer::visit_fields(visitor);
  visit_options(options_, visitor);
}

Tensor LeakyReLULayer::call(const Tensor& input, const CallContext&) {
  return activations::leaky_relu(input, options_.negative_slope);
}

COHORT_REGISTER(Layer, LeakyReLULayer, "LeakyReLU");
[[maybe_unused]] static const bool leaky_relu_as_activation = register_layer_as_activation("LeakyReLU");

LeakyReLU::LeakyReLU(LeakyReLUOptions options)
    : LayerHandle<LeakyReLULayer>(std::make_shared<LeakyReLULayer>(std::move(options))) {}

}  // namespace cohort::layers
