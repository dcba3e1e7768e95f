#include "cohort/layers/core/identity.h"

namespace cohort::layers {

IdentityLayer::IdentityLayer(NameOption options) {
  supports_masking_ = true;
  take_options(options);
}

Tensor IdentityLayer::call(const Tensor& input, const CallContext&) { return input; }

COHORT_REGISTER(Layer, IdentityLayer, "Identity");

Identity::Identity(NameOption options)
    : LayerHandle<IdentityLayer>(std::make_shared<IdentityLayer>(std::move(options))) {}

}  // namespace cohort::layers
