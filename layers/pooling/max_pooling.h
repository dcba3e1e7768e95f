#pragma once

#include "cohort/layers/pooling/pooling.h"

namespace cohort::layers {

// The largest element of each window; the classes below fix how many axes the windows have.
class MaxPoolingLayer : public PoolingLayer {
 public:
  using PoolingLayer::PoolingLayer;

 protected:
  Tensor pool(const Tensor& input, const std::vector<std::int64_t>& pool_size,
              const ops::PoolOptions& options) const override;
};

class MaxPooling1DLayer : public MaxPoolingLayer {
 public:
  explicit MaxPooling1DLayer(Window pool_size = 2, PoolingOptions options = {})
      : MaxPoolingLayer(1, std::move(pool_size), std::move(options)) {
    MaxPooling1DLayer::fields_changed();
  }
};

// The maximum of each window along the steps.
// Input (batch, steps, channels), output (batch, new_steps, channels).
//   pool_size: size of the window along the steps.
struct MaxPooling1D : LayerHandle<MaxPooling1DLayer> {
  explicit MaxPooling1D(Window pool_size = 2, PoolingOptions options = {});
};

class MaxPooling2DLayer : public MaxPoolingLayer {
 public:
  explicit MaxPooling2DLayer(Window pool_size = 2, PoolingOptions options = {})
      : MaxPoolingLayer(2, std::move(pool_size), std::move(options)) {
    MaxPooling2DLayer::fields_changed();
  }
};

// The maximum of each window along height and width.
// Input (batch, height, width, channels), output (batch, new_height, new_width, channels).
//   pool_size: size of the window along height and width; one number stands for both.
struct MaxPooling2D : LayerHandle<MaxPooling2DLayer> {
  explicit MaxPooling2D(Window pool_size = 2, PoolingOptions options = {});
};

class MaxPooling3DLayer : public MaxPoolingLayer {
 public:
  explicit MaxPooling3DLayer(Window pool_size = 2, PoolingOptions options = {})
      : MaxPoolingLayer(3, std::move(pool_size), std::move(options)) {
    MaxPooling3DLayer::fields_changed();
  }
};

// The maximum of each window along depth, height and width.
// Input (batch, depth, height, width, channels), output (batch, new_depth, new_height, new_width, channels).
//   pool_size: size of the window along depth, height and width; one number stands for all three.
struct MaxPooling3D : LayerHandle<MaxPooling3DLayer> {
  explicit MaxPooling3D(Window pool_size = 2, PoolingOptions options = {});
};

}  // namespace cohort::layers
