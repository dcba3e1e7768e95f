#pragma once

#include <string>
#include <vector>

#include "cohort/layers/merging/merge.h"

namespace cohort::layers {

class AddLayer : public MergeLayer {
 public:
  explicit AddLayer(NameOption options = {}) : MergeLayer(options) {}

 protected:
  Tensor merge(const Tensors& inputs, const Tensors& masks) const override;
};

// The elementwise sum of a list of inputs.
// Input (batch, ...) of each, broadcast against each other with missing axes added after the batch, output (batch,
// ...).
struct Add : LayerHandle<AddLayer> {
  explicit Add(NameOption options = {});
};

}  // namespace cohort::layers
