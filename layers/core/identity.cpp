#include "cohort/layers/core/identity.h"

namespace cohort::layers {

IdentityLayer::IdentityLayer(NameOption options) {
  supports_masking_ = true;
  take_options(options);
}

Tensor IdentityLayer::call(const Tensor& input, const CallContext&) { return input; }

namespace {

[[maybe_unused]] const bool identity_registered =
    Layer::registry().add("Identity", [] { return std::make_shared<IdentityLayer>(); });

}  // namespace
}  // namespace cohort::layers
