#include "cohort/layers/merging/minimum.h"

#include "cohort/ops/math.h"

namespace cohort::layers {

Tensor MinimumLayer::merge(const Tensors& inputs, const Tensors& masks) const {
  return merge_pairwise(inputs, masks, ops::minimum);
}

COHORT_REGISTER(Layer, MinimumLayer, "Minimum");

Minimum::Minimum(NameOption options) : LayerHandle<MinimumLayer>(std::make_shared<MinimumLayer>(std::move(options))) {}

}  // namespace cohort::layers
