#pragma once

#include <string>
#include <vector>

#include "cohort/layers/merging/merge.h"

namespace cohort::layers {

class AverageLayer : public MergeLayer {
 public:
  explicit AverageLayer(NameOption options = {}) : MergeLayer(options) {}

 protected:
  Tensor merge(const Tensors& inputs, const Tensors& masks) const override;
};

// The elementwise mean of a list of inputs.
// Input (batch, ...) of each, broadcast against each other with missing axes added after the batch, output (batch,
// ...).
struct Average : LayerHandle<AverageLayer> {
  explicit Average(NameOption options = {});
};

}  // namespace cohort::layers
