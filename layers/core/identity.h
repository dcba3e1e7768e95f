#pragma once

#include <string>

#include "cohort/layers/basic_options.h"
#include "cohort/model/layer/layer.h"

namespace cohort::layers {

// Passes its input on.
class IdentityLayer : public Layer {
 public:
  explicit IdentityLayer(NameOption options = {});
  std::string class_name() const override { return "Identity"; }
  Tensor call(const Tensor& input, const CallContext& context) override;
};

struct Identity : LayerHandle<IdentityLayer> {
  explicit Identity(NameOption options = {})
      : LayerHandle<IdentityLayer>(std::make_shared<IdentityLayer>(std::move(options))) {}
};

}  // namespace cohort::layers
