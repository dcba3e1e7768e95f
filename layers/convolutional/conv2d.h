#pragma once

#include <memory>
#include <utility>

#include "cohort/layers/convolutional/conv.h"

namespace cohort::layers {

using Conv2DOptions = ConvOptions;

// 2-D convolution: (batch, height, width, channels) to (batch, new height, new width, filters).
class Conv2DLayer : public ConvLayer {
 public:
  Conv2DLayer() : Conv2DLayer(1, 1) {}
  Conv2DLayer(std::int64_t filters, Window kernel_size, Conv2DOptions options = {})
      : ConvLayer(2, filters, std::move(kernel_size), std::move(options)) {}
};

struct Conv2D : LayerHandle<Conv2DLayer> {
  Conv2D(std::int64_t filters, Window kernel_size, Conv2DOptions options = {})
      : LayerHandle<Conv2DLayer>(std::make_shared<Conv2DLayer>(filters, std::move(kernel_size), std::move(options))) {}
};

}  // namespace cohort::layers
