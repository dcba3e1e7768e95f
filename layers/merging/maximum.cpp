#include "cohort/layers/merging/maximum.h"

#include "cohort/ops/math.h"

namespace cohort::layers {

Tensor MaximumLayer::merge(const Tensors& inputs, const Tensors& masks) const {
  return merge_pairwise(inputs, masks, ops::maximum);
}

COHORT_REGISTER(Layer, MaximumLayer, "Maximum");

Maximum::Maximum(NameOption options) : LayerHandle<MaximumLayer>(std::make_shared<MaximumLayer>(std::move(options))) {}

}  // namespace cohort::layers
