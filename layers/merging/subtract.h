#pragma once

#include <string>
#include <vector>

#include "cohort/layers/merging/merge.h"

namespace cohort::layers {

// The first of its two inputs less the second.
class SubtractLayer : public MergeLayer {
 public:
  explicit SubtractLayer(NameOption options = {}) : MergeLayer(options) {}
  std::string class_name() const override { return "Subtract"; }
  void build_many(const std::vector<Shape>& inputs) override;

 protected:
  Tensor merge(const Tensors& inputs, const Tensors& masks) const override;
};

struct Subtract : LayerHandle<SubtractLayer> {
  explicit Subtract(NameOption options = {})
      : LayerHandle<SubtractLayer>(std::make_shared<SubtractLayer>(std::move(options))) {}
};

}  // namespace cohort::layers
