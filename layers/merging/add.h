#pragma once

#include <string>
#include <vector>

#include "cohort/layers/merging/merge.h"

namespace cohort::layers {

// The sum of its inputs.
class AddLayer : public MergeLayer {
 public:
  explicit AddLayer(NameOption options = {}) : MergeLayer(options) {}
  std::string class_name() const override { return "Add"; }

 protected:
  Tensor merge(const Tensors& inputs, const Tensors& masks) const override;
};

struct Add : LayerHandle<AddLayer> {
  explicit Add(NameOption options = {}) : LayerHandle<AddLayer>(std::make_shared<AddLayer>(std::move(options))) {}
};

}  // namespace cohort::layers
