#pragma once

#include <memory>
#include <utility>

#include "cohort/layers/convolutional/conv_transpose.h"

namespace cohort::layers {

using Conv2DTransposeOptions = ConvTransposeOptions;

class Conv2DTransposeLayer : public ConvTransposeLayer {
 public:
  Conv2DTransposeLayer() : Conv2DTransposeLayer(1, 1) {}
  Conv2DTransposeLayer(std::int64_t filters, Window kernel_size, Conv2DTransposeOptions options = {})
      : ConvTransposeLayer(2, filters, std::move(kernel_size), std::move(options)) {
    Conv2DTransposeLayer::fields_changed();
  }
};

// Transposed 2-D convolution, which enlarges its input: with padding 'same' and no output_padding each spatial axis
// grows by the factor strides.
// Input (batch, height, width, channels), output (batch, new_height, new_width, filters).
//   filters: number of filters, the size of the output's channel axis.
//   kernel_size: size of the kernel along height and width; one number stands for both.
struct Conv2DTranspose : LayerHandle<Conv2DTransposeLayer> {
  Conv2DTranspose(std::int64_t filters, Window kernel_size, Conv2DTransposeOptions options = {});
};

}  // namespace cohort::layers
