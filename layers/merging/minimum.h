#pragma once

#include <string>
#include <vector>

#include "cohort/layers/merging/merge.h"

namespace cohort::layers {

// The smallest of its inputs, element by element; of those that masks let count.
class MinimumLayer : public MergeLayer {
 public:
  explicit MinimumLayer(NameOption options = {}) : MergeLayer(options) {}
  std::string class_name() const override { return "Minimum"; }

 protected:
  Tensor merge(const Tensors& inputs, const Tensors& masks) const override;
};

struct Minimum : LayerHandle<MinimumLayer> {
  explicit Minimum(NameOption options = {})
      : LayerHandle<MinimumLayer>(std::make_shared<MinimumLayer>(std::move(options))) {}
};

}  // namespace cohort::layers
