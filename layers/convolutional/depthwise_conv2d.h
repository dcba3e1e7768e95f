#pragma once

#include <memory>
#include <utility>

#include "cohort/layers/convolutional/depthwise_conv.h"

namespace cohort::layers {

using DepthwiseConv2DOptions = DepthwiseConvOptions;

class DepthwiseConv2DLayer : public DepthwiseConvLayer {
 public:
  DepthwiseConv2DLayer() : DepthwiseConv2DLayer(1) {}
  explicit DepthwiseConv2DLayer(Window kernel_size, DepthwiseConv2DOptions options = {})
      : DepthwiseConvLayer(2, std::move(kernel_size), std::move(options)) {
    DepthwiseConv2DLayer::fields_changed();
  }
};

// 2-D convolution of each channel by itself, with depth_multiplier filters for each.
// Input (batch, height, width, channels), output (batch, new_height, new_width, channels * depth_multiplier).
//   kernel_size: size of the kernel along height and width; one number stands for both.
struct DepthwiseConv2D : LayerHandle<DepthwiseConv2DLayer> {
  explicit DepthwiseConv2D(Window kernel_size, DepthwiseConv2DOptions options = {});
};

}  // namespace cohort::layers
