#pragma once

#include <string>
#include <vector>

#include "cohort/layers/merging/merge.h"

namespace cohort::layers {

// The largest of its inputs, element by element; of those that masks let count.
class MaximumLayer : public MergeLayer {
 public:
  explicit MaximumLayer(NameOption options = {}) : MergeLayer(options) {}
  std::string class_name() const override { return "Maximum"; }

 protected:
  Tensor merge(const Tensors& inputs, const Tensors& masks) const override;
};

struct Maximum : LayerHandle<MaximumLayer> {
  explicit Maximum(NameOption options = {})
      : LayerHandle<MaximumLayer>(std::make_shared<MaximumLayer>(std::move(options))) {}
};

}  // namespace cohort::layers
