#pragma once

#include <string>
#include <vector>

#include "cohort/layers/merging/merge.h"

namespace cohort::layers {

class SubtractLayer : public MergeLayer {
 public:
  explicit SubtractLayer(NameOption options = {}) : MergeLayer(options) {}
  void build_many(const std::vector<Shape>& inputs) override;

 protected:
  Tensor merge(const Tensors& inputs, const Tensors& masks) const override;
};

// The first of two inputs minus the second.
// Input (batch, ...) of each, broadcast against each other with missing axes added after the batch, output (batch,
// ...).
struct Subtract : LayerHandle<SubtractLayer> {
  explicit Subtract(NameOption options = {});
};

}  // namespace cohort::layers
