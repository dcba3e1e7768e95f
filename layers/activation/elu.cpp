#include "cohort/layers/activation/elu.h"

#include "cohort/model/activations.h"

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

}  // namespace cohort::layers
