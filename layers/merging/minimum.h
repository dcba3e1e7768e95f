#pragma once

#include <string>
#include <vector>

#include "cohort/layers/merging/merge.h"

namespace cohort::layers {

class MinimumLayer : public MergeLayer {
 public:
  explicit MinimumLayer(NameOption options = {}) : MergeLayer(options) {}

 protected:
  Tensor merge(const Tensors& inputs, const Tensors& masks) const override;
};

// The elementwise minimum of a list of inputs; where a mask leaves one out, of the others.
// Input (batch, ...) of each, broadcast against each other with missing axes added after the batch, output (batch,
// ...).
struct Minimum : LayerHandle<MinimumLayer> {
  explicit Minimum(NameOption options = {});
};

}  // namespace cohort::layers
