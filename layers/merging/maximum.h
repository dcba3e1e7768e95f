#pragma once

#include <string>
#include <vector>

#include "cohort/layers/merging/merge.h"

namespace cohort::layers {

class MaximumLayer : public MergeLayer {
 public:
  explicit MaximumLayer(NameOption options = {}) : MergeLayer(options) {}

 protected:
  Tensor merge(const Tensors& inputs, const Tensors& masks) const override;
};

// The elementwise maximum of a list of inputs; where a mask leaves one out, of the others.
// Input (batch, ...) of each, broadcast against each other with missing axes added after the batch, output (batch,
// ...).
struct Maximum : LayerHandle<MaximumLayer> {
  explicit Maximum(NameOption options = {});
};

}  // namespace cohort::layers
