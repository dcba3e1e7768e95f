#pragma once

#include <memory>
#include <utility>

#include "cohort/layers/convolutional/conv.h"

namespace cohort::layers {

using Conv2DOptions = ConvOptions;

class Conv2DLayer : public ConvLayer {
 public:
  Conv2DLayer() : Conv2DLayer(1, 1) {}
  Conv2DLayer(std::int64_t filters, Window kernel_size, Conv2DOptions options = {})
      : ConvLayer(2, filters, std::move(kernel_size), std::move(options)) {
    Conv2DLayer::fields_changed();
  }
};

// 2-D convolution over images: activation(conv(input, kernel) + bias).
// Input (batch, height, width, channels), output (batch, new_height, new_width, filters).
//   filters: number of filters, the size of the output's channel axis.
//   kernel_size: size of the kernel along height and width; one number stands for both.
struct Conv2D : LayerHandle<Conv2DLayer> {
  Conv2D(std::int64_t filters, Window kernel_size, Conv2DOptions options = {});
};

}  // namespace cohort::layers
