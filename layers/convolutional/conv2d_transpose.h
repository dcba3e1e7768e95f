#pragma once

#include <memory>
#include <utility>

#include "cohort/layers/convolutional/conv_transpose.h"

namespace cohort::layers {

using Conv2DTransposeOptions = ConvTransposeOptions;

// Transposed 2-D convolution: (batch, height, width, channels) to (batch, new height, new width, filters).
class Conv2DTransposeLayer : public ConvTransposeLayer {
 public:
  Conv2DTransposeLayer() : Conv2DTransposeLayer(1, 1) {}
  Conv2DTransposeLayer(std::int64_t filters, Window kernel_size, Conv2DTransposeOptions options = {})
      : ConvTransposeLayer(2, filters, std::move(kernel_size), std::move(options)) {}
};

struct Conv2DTranspose : LayerHandle<Conv2DTransposeLayer> {
  Conv2DTranspose(std::int64_t filters, Window kernel_size, Conv2DTransposeOptions options = {})
      : LayerHandle<Conv2DTransposeLayer>(
            std::make_shared<Conv2DTransposeLayer>(filters, std::move(kernel_size), std::move(options))) {}
};

}  // namespace cohort::layers
