#pragma once

#include <string>
#include <vector>

#include "cohort/layers/merging/merge.h"

namespace cohort::layers {

class MultiplyLayer : public MergeLayer {
 public:
  explicit MultiplyLayer(NameOption options = {}) : MergeLayer(options) {}

 protected:
  Tensor merge(const Tensors& inputs, const Tensors& masks) const override;
};

// The elementwise product of a list of inputs; what a mask leaves out counts as 1, what the masks of all leave out
// becomes 0.
// Input (batch, ...) of each, broadcast against each other with missing axes added after the batch, output (batch,
// ...).
struct Multiply : LayerHandle<MultiplyLayer> {
  explicit Multiply(NameOption options = {});
};

}  // namespace cohort::layers
