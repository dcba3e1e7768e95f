#include "cohort/layers/merging/maximum.h"

#include "cohort/ops/math.h"

namespace cohort::layers {

Tensor MaximumLayer::merge(const Tensors& inputs, const Tensors& masks) const {
  return merge_pairwise(inputs, masks, ops::maximum);
}

namespace {

[[maybe_unused]] const bool maximum_registered =
    Layer::registry().add("Maximum", [] { return std::make_shared<MaximumLayer>(); });

}  // namespace
}  // namespace cohort::layers
