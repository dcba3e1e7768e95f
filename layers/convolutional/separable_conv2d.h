#pragma once

#include <memory>
#include <utility>

#include "cohort/layers/convolutional/separable_conv.h"

namespace cohort::layers {

using SeparableConv2DOptions = SeparableConvOptions;

// 2-D convolution of each channel by itself, then across channels: (batch, height, width, channels) to (batch, new
// height, new width, filters).
class SeparableConv2DLayer : public SeparableConvLayer {
 public:
  SeparableConv2DLayer() : SeparableConv2DLayer(1, 1) {}
  SeparableConv2DLayer(std::int64_t filters, Window kernel_size, SeparableConv2DOptions options = {})
      : SeparableConvLayer(2, filters, std::move(kernel_size), std::move(options)) {}
};

struct SeparableConv2D : LayerHandle<SeparableConv2DLayer> {
  SeparableConv2D(std::int64_t filters, Window kernel_size, SeparableConv2DOptions options = {})
      : LayerHandle<SeparableConv2DLayer>(
            std::make_shared<SeparableConv2DLayer>(filters, std::move(kernel_size), std::move(options))) {}
};

}  // namespace cohort::layers
