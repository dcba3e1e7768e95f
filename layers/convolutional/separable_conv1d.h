#pragma once

#include <memory>
#include <utility>

#include "cohort/layers/convolutional/separable_conv.h"

namespace cohort::layers {

using SeparableConv1DOptions = SeparableConvOptions;

// 1-D convolution of each channel by itself, then across channels: (batch, steps, channels) to (batch, new steps,
// filters).
class SeparableConv1DLayer : public SeparableConvLayer {
 public:
  SeparableConv1DLayer() : SeparableConv1DLayer(1, 1) {}
  SeparableConv1DLayer(std::int64_t filters, Window kernel_size, SeparableConv1DOptions options = {})
      : SeparableConvLayer(1, filters, std::move(kernel_size), std::move(options)) {}
};

struct SeparableConv1D : LayerHandle<SeparableConv1DLayer> {
  SeparableConv1D(std::int64_t filters, Window kernel_size, SeparableConv1DOptions options = {})
      : LayerHandle<SeparableConv1DLayer>(
            std::make_shared<SeparableConv1DLayer>(filters, std::move(kernel_size), std::move(options))) {}
};

}  // namespace cohort::layers
