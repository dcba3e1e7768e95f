#include "cohort/layers/pooling/average_pooling.h"

namespace cohort::layers {

Tensor AveragePoolingLayer::pool(const Tensor& input, const std::vector<std::int64_t>& pool_size,
                                 const ops::PoolOptions& options) const {
  return ops::average_pool(input, pool_size, options);
}

COHORT_REGISTER(Layer, AveragePooling1DLayer, "AveragePooling1D");
COHORT_REGISTER(Layer, AveragePooling2DLayer, "AveragePooling2D");
COHORT_REGISTER(Layer, AveragePooling3DLayer, "AveragePooling3D");

}  // namespace cohort::layers
