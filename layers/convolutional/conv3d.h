#pragma once

#include <memory>
#include <utility>

#include "cohort/layers/convolutional/conv.h"

namespace cohort::layers {

using Conv3DOptions = ConvOptions;

class Conv3DLayer : public ConvLayer {
 public:
  Conv3DLayer() : Conv3DLayer(1, 1) {}
  Conv3DLayer(std::int64_t filters, Window kernel_size, Conv3DOptions options = {})
      : ConvLayer(3, filters, std::move(kernel_size), std::move(options)) {
    Conv3DLayer::fields_changed();
  }
};

// 3-D convolution over volumes, such as videos or scans: activation(conv(input, kernel) + bias).
// Input (batch, depth, height, width, channels), output (batch, new_depth, new_height, new_width, filters).
//   filters: number of filters, the size of the output's channel axis.
//   kernel_size: size of the kernel along depth, height and width; one number stands for all three.
struct Conv3D : LayerHandle<Conv3DLayer> {
  Conv3D(std::int64_t filters, Window kernel_size, Conv3DOptions options = {});
};

}  // namespace cohort::layers
