#pragma once

#include <memory>
#include <utility>

#include "cohort/layers/convolutional/separable_conv.h"

namespace cohort::layers {

using SeparableConv2DOptions = SeparableConvOptions;

class SeparableConv2DLayer : public SeparableConvLayer {
 public:
  SeparableConv2DLayer() : SeparableConv2DLayer(1, 1) {}
  SeparableConv2DLayer(std::int64_t filters, Window kernel_size, SeparableConv2DOptions options = {})
      : SeparableConvLayer(2, filters, std::move(kernel_size), std::move(options)) {
    SeparableConv2DLayer::fields_changed();
  }
};

// A depthwise 2-D convolution followed by a pointwise one, of kernel size 1, that mixes the channels.
// Input (batch, height, width, channels), output (batch, new_height, new_width, filters).
//   filters: number of filters, the size of the output's channel axis.
//   kernel_size: size of the kernel along height and width; one number stands for both.
struct SeparableConv2D : LayerHandle<SeparableConv2DLayer> {
  SeparableConv2D(std::int64_t filters, Window kernel_size, SeparableConv2DOptions options = {});
};

}  // namespace cohort::layers
