#include "cohort/layers/pooling/max_pooling.h"

namespace cohort::layers {

Tensor MaxPoolingLayer::pool(const Tensor& input, const std::vector<std::int64_t>& pool_size,
                             const ops::PoolOptions& options) const {
  return ops::max_pool(input, pool_size, options);
}

COHORT_REGISTER(Layer, MaxPooling1DLayer, "MaxPooling1D");
COHORT_REGISTER(Layer, MaxPooling2DLayer, "MaxPooling2D");
COHORT_REGISTER(Layer, MaxPooling3DLayer, "MaxPooling3D");

MaxPooling1D::MaxPooling1D(Window pool_size, PoolingOptions options)
    : LayerHandle<MaxPooling1DLayer>(std::make_shared<MaxPooling1DLayer>(std::move(pool_size), std::move(options))) {}
MaxPooling2D::MaxPooling2D(Window pool_size, PoolingOptions options)
    : LayerHandle<MaxPooling2DLayer>(std::make_shared<MaxPooling2DLayer>(std::move(pool_size), std::move(options))) {}
MaxPooling3D::MaxPooling3D(Window pool_size, PoolingOptions options)
    : LayerHandle<MaxPooling3DLayer>(std::make_shared<MaxPooling3DLayer>(std::move(pool_size), std::move(options))) {}

}  // namespace cohort::layers
