#include "cohort/layers/pooling/max_pooling.h"

namespace cohort::layers {

Tensor MaxPoolingLayer::pool(const Tensor& input, const std::vector<std::int64_t>& pool_size,
                             const ops::PoolOptions& options) const {
  return ops::max_pool(input, pool_size, options);
}

namespace {

[[maybe_unused]] const bool max_pooling_registered[] = {
    Layer::registry().add("MaxPooling1D", [] { return std::make_shared<MaxPooling1DLayer>(); }),
    Layer::registry().add("MaxPooling2D", [] { return std::make_shared<MaxPooling2DLayer>(); }),
    Layer::registry().add("MaxPooling3D", [] { return std::make_shared<MaxPooling3DLayer>(); }),
};

}  // namespace
}  // namespace cohort::layers
