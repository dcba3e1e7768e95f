#include "cohort/layers/pooling/average_pooling.h"

namespace cohort::layers {

Tensor AveragePoolingLayer::pool(const Tensor& input, const std::vector<std::int64_t>& pool_size,
                                 const ops::PoolOptions& options) const {
  return ops::average_pool(input, pool_size, options);
}

namespace {

[[maybe_unused]] const bool average_pooling_registered[] = {
    Layer::registry().add("AveragePooling1D", [] { return std::make_shared<AveragePooling1DLayer>(); }),
    Layer::registry().add("AveragePooling2D", [] { return std::make_shared<AveragePooling2DLayer>(); }),
    Layer::registry().add("AveragePooling3D", [] { return std::make_shared<AveragePooling3DLayer>(); }),
};

}  // namespace
}  // namespace cohort::layers
