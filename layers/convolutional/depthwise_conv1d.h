#pragma once

#include <memory>
#include <utility>

#include "cohort/layers/convolutional/depthwise_conv.h"

namespace cohort::layers {

using DepthwiseConv1DOptions = DepthwiseConvOptions;

class DepthwiseConv1DLayer : public DepthwiseConvLayer {
 public:
  DepthwiseConv1DLayer() : DepthwiseConv1DLayer(1) {}
  explicit DepthwiseConv1DLayer(Window kernel_size, DepthwiseConv1DOptions options = {})
      : DepthwiseConvLayer(1, std::move(kernel_size), std::move(options)) {
    DepthwiseConv1DLayer::fields_changed();
  }
};

// 1-D convolution of each channel by itself, with depth_multiplier filters for each.
// Input (batch, steps, channels), output (batch, new_steps, channels * depth_multiplier).
//   kernel_size: size of the kernel along the steps.
struct DepthwiseConv1D : LayerHandle<DepthwiseConv1DLayer> {
  explicit DepthwiseConv1D(Window kernel_size, DepthwiseConv1DOptions options = {});
};

}  // namespace cohort::layers
