#pragma once

#include <memory>
#include <utility>

#include "cohort/layers/convolutional/conv.h"

namespace cohort::layers {

using Conv1DOptions = ConvOptions;

class Conv1DLayer : public ConvLayer {
 public:
  Conv1DLayer() : Conv1DLayer(1, 1) {}
  Conv1DLayer(std::int64_t filters, Window kernel_size, Conv1DOptions options = {})
      : ConvLayer(1, filters, std::move(kernel_size), std::move(options)) {
    Conv1DLayer::fields_changed();
  }
};

// 1-D convolution over a sequence, such as a time series: activation(conv(input, kernel) + bias).
// Input (batch, steps, channels), output (batch, new_steps, filters).
//   filters: number of filters, the size of the output's channel axis.
//   kernel_size: size of the kernel along the steps.
struct Conv1D : LayerHandle<Conv1DLayer> {
  Conv1D(std::int64_t filters, Window kernel_size, Conv1DOptions options = {});
};

}  // namespace cohort::layers
