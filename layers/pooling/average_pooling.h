#pragma once

#include "cohort/layers/pooling/pooling.h"

namespace cohort::layers {

// The mean of each window, padding left out; the classes below fix how many axes the windows have.
class AveragePoolingLayer : public PoolingLayer {
 public:
  using PoolingLayer::PoolingLayer;

 protected:
  Tensor pool(const Tensor& input, const std::vector<std::int64_t>& pool_size,
              const ops::PoolOptions& options) const override;
};

class AveragePooling1DLayer : public AveragePoolingLayer {
 public:
  explicit AveragePooling1DLayer(Window pool_size = 2, PoolingOptions options = {})
      : AveragePoolingLayer(1, std::move(pool_size), std::move(options)) {
    AveragePooling1DLayer::fields_changed();
  }
};

// The mean of each window along the steps; padding does not count.
// Input (batch, steps, channels), output (batch, new_steps, channels).
//   pool_size: size of the window along the steps.
struct AveragePooling1D : LayerHandle<AveragePooling1DLayer> {
  explicit AveragePooling1D(Window pool_size = 2, PoolingOptions options = {});
};

class AveragePooling2DLayer : public AveragePoolingLayer {
 public:
  explicit AveragePooling2DLayer(Window pool_size = 2, PoolingOptions options = {})
      : AveragePoolingLayer(2, std::move(pool_size), std::move(options)) {
    AveragePooling2DLayer::fields_changed();
  }
};

// The mean of each window along height and width; padding does not count.
// Input (batch, height, width, channels), output (batch, new_height, new_width, channels).
//   pool_size: size of the window along height and width; one number stands for both.
struct AveragePooling2D : LayerHandle<AveragePooling2DLayer> {
  explicit AveragePooling2D(Window pool_size = 2, PoolingOptions options = {});
};

class AveragePooling3DLayer : public AveragePoolingLayer {
 public:
  explicit AveragePooling3DLayer(Window pool_size = 2, PoolingOptions options = {})
      : AveragePoolingLayer(3, std::move(pool_size), std::move(options)) {
    AveragePooling3DLayer::fields_changed();
  }
};

// The mean of each window along depth, height and width; padding does not count.
// Input (batch, depth, height, width, channels), output (batch, new_depth, new_height, new_width, channels).
//   pool_size: size of the window along depth, height and width; one number stands for all three.
struct AveragePooling3D : LayerHandle<AveragePooling3DLayer> {
  explicit AveragePooling3D(Window pool_size = 2, PoolingOptions options = {});
};

}  // namespace cohort::layers
