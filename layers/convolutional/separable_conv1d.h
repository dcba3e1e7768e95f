#pragma once

#include <memory>
#include <utility>

#include "cohort/layers/convolutional/separable_conv.h"

namespace cohort::layers {

using SeparableConv1DOptions = SeparableConvOptions;

class SeparableConv1DLayer : public SeparableConvLayer {
 public:
  SeparableConv1DLayer() : SeparableConv1DLayer(1, 1) {}
  SeparableConv1DLayer(std::int64_t filters, Window kernel_size, SeparableConv1DOptions options = {})
      : SeparableConvLayer(1, filters, std::move(kernel_size), std::move(options)) {
    SeparableConv1DLayer::fields_changed();
  }
};

// A depthwise 1-D convolution followed by a pointwise one, of kernel size 1, that mixes the channels.
// Input (batch, steps, channels), output (batch, new_steps, filters).
//   filters: number of filters, the size of the output's channel axis.
//   kernel_size: size of the kernel along the steps.
struct SeparableConv1D : LayerHandle<SeparableConv1DLayer> {
  SeparableConv1D(std::int64_t filters, Window kernel_size, SeparableConv1DOptions options = {});
};

}  // namespace cohort::layers
