#include "cohort/layers/activation/elu.h"

#include "cohort/model/activations.h"
#include "cohort/model/layer/layer_activation.h"

namespace cohort::layers {

ELULayer::ELULayer(ELUOptions options) : options_(std::move(options)) {
  supports_masking_ = true;
  take_options(options_);
}

void ELULayer::visit_fields(FieldVisitor& visitor) {
  Layer::visit_fields(visitor);
  visit_options(options_, visitor);
}

Tensor ELULayer::call(const Tensor& input, const CallContext&) { return activations::elu(input, options_.alpha); }

COHORT_REGISTER(Layer, ELULayer, "ELU");
[[maybe_unused]] static const bool elu_as_activation = register_layer_as_activation("ELU");

ELU::ELU(ELUOptions options) : LayerHandle<ELULayer>(std::make_shared<ELULayer>(std::move(options))) {}

}  // namespace cohort::layers
