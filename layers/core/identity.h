#pragma once

#include <string>

#include "cohort/layers/basic_options.h"
#include "cohort/model/layer/layer.h"

namespace cohort::layers {

class IdentityLayer : public Layer {
 public:
  explicit IdentityLayer(NameOption options = {});
  Tensor call(const Tensor& input, const CallContext& context) override;
};

// Returns its input unchanged.
// Input any shape, output the same shape.
struct Identity : LayerHandle<IdentityLayer> {
  explicit Identity(NameOption options = {});
};

}  // namespace cohort::layers
