#include "cohort/layers/pooling/average_pooling.h"

namespace cohort::layers {

Tensor AveragePoolingLayer::pool(const Tensor& input, const std::vector<std::int64_t>& pool_size,
                                 const ops::PoolOptions& options) const {
  return ops::average_pool(input, pool_size, options);
}

COHORT_REGISTER(Layer, AveragePooling1DLayer, "AveragePooling1D");
COHORT_REGISTER(Layer, AveragePooling2DLayer, "AveragePooling2D");
COHORT_REGISTER(Layer, AveragePooling3DLayer, "AveragePooling3D");

AveragePooling1D::AveragePooling1D(Window pool_size, PoolingOptions options)
    : LayerHandle<AveragePooling1DLayer>(
          std::make_shared<AveragePooling1DLayer>(std::move(pool_size), std::move(options))) {}
AveragePooling2D::AveragePooling2D(Window pool_size, PoolingOptions options)
    : LayerHandle<AveragePooling2DLayer>(
          std::make_shared<AveragePooling2DLayer>(std::move(pool_size), std::move(options))) {}
AveragePooling3D::AveragePooling3D(Window pool_size, PoolingOptions options)
    : LayerHandle<AveragePooling3DLayer>(
          std::make_shared<AveragePooling3DLayer>(std::move(pool_size), std::move(options))) {}

}  // namespace cohort::layers
