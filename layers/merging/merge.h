#pragma once

#include <string>
#include <vector>

#include "cohort/layers/basic_options.h"
#include "cohort/model/layer/layer.h"

namespace cohort::layers {

// What the layers share that combine several inputs element by element. Inputs broadcast; those with fewer axes get new
// ones after the batch.
class MergeLayer : public Layer {
 public:
  explicit MergeLayer(const NameOption& options);
  void build_many(const std::vector<Shape>& inputs) override;
  Tensor call(const Tensor& input, const CallContext& context) override;
  Tensor call_many(const Tensors& inputs, const CallContext& context) override;
  // What any input counts, when all have a mask.
  Element compute_mask(const Element& inputs, const Element& mask) override;

 protected:
  // Inputs of equal rank; masks[i] is that of inputs[i] with an axis of size 1 at the end, or undefined.
  virtual Tensor merge(const Tensors& inputs, const Tensors& masks) const = 0;
};

// Combines the inputs two by two with `combine(result so far, input)`: what the mask of one of the two leaves out is
// taken from the other.
Tensor merge_pairwise(const Tensors& inputs, const Tensors& masks, Tensor (*combine)(const Tensor&, const Tensor&));

}  // namespace cohort::layers
