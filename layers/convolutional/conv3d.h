#pragma once

#include <memory>
#include <utility>

#include "cohort/layers/convolutional/conv.h"

namespace cohort::layers {

using Conv3DOptions = ConvOptions;

// 3-D convolution: (batch, depth, height, width, channels) to (batch, new depth, new height, new width, filters).
class Conv3DLayer : public ConvLayer {
 public:
  Conv3DLayer() : Conv3DLayer(1, 1) {}
  Conv3DLayer(std::int64_t filters, Window kernel_size, Conv3DOptions options = {})
      : ConvLayer(3, filters, std::move(kernel_size), std::move(options)) {}
};

struct Conv3D : LayerHandle<Conv3DLayer> {
  Conv3D(std::int64_t filters, Window kernel_size, Conv3DOptions options = {})
      : LayerHandle<Conv3DLayer>(std::make_shared<Conv3DLayer>(filters, std::move(kernel_size), std::move(options))) {}
};

}  // namespace cohort::layers
