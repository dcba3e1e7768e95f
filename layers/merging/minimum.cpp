#include "cohort/layers/merging/minimum.h"

#include "cohort/ops/math.h"

namespace cohort::layers {

Tensor MinimumLayer::merge(const Tensors& inputs, const Tensors& masks) const {
  return merge_pairwise(inputs, masks, ops::minimum);
}

namespace {

[[maybe_unused]] const bool minimum_registered =
    Layer::registry().add("Minimum", [] { return std::make_shared<MinimumLayer>(); });

}  // namespace
}  // namespace cohort::layers
