#pragma once

#include <memory>
#include <utility>

#include "cohort/layers/convolutional/conv_transpose.h"

namespace cohort::layers {

using Conv1DTransposeOptions = ConvTransposeOptions;

class Conv1DTransposeLayer : public ConvTransposeLayer {
 public:
  Conv1DTransposeLayer() : Conv1DTransposeLayer(1, 1) {}
  Conv1DTransposeLayer(std::int64_t filters, Window kernel_size, Conv1DTransposeOptions options = {})
      : ConvTransposeLayer(1, filters, std::move(kernel_size), std::move(options)) {
    Conv1DTransposeLayer::fields_changed();
  }
};

// Transposed 1-D convolution, which enlarges its input: with padding 'same' and no output_padding each spatial axis
// grows by the factor strides.
// Input (batch, steps, channels), output (batch, new_steps, filters).
//   filters: number of filters, the size of the output's channel axis.
//   kernel_size: size of the kernel along the steps.
struct Conv1DTranspose : LayerHandle<Conv1DTransposeLayer> {
  Conv1DTranspose(std::int64_t filters, Window kernel_size, Conv1DTransposeOptions options = {});
};

}  // namespace cohort::layers
