#include "cohort/layers/pooling/max_pooling.h"

namespace cohort::layers {

Tensor MaxPoolingLayer::pool(const Tensor& input, const std::vector<std::int64_t>& pool_size,
                             const ops::PoolOptions& options) const {
  return ops::max_pool(input, pool_size, options);
}

COHORT_REGISTER(Layer, MaxPooling1DLayer, "MaxPooling1D");
COHORT_REGISTER(Layer, MaxPooling2DLayer, "MaxPooling2D");
COHORT_REGISTER(Layer, MaxPooling3DLayer, "MaxPooling3D");

}  // namespace cohort::layers
