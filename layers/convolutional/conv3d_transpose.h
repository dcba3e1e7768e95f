#pragma once

#include <memory>
#include <utility>

#include "cohort/layers/convolutional/conv_transpose.h"

namespace cohort::layers {

using Conv3DTransposeOptions = ConvTransposeOptions;

// Transposed 3-D convolution: (batch, depth, height, width, channels) to (batch, new depth, new height, new width,
// filters).
class Conv3DTransposeLayer : public ConvTransposeLayer {
 public:
  Conv3DTransposeLayer() : Conv3DTransposeLayer(1, 1) {}
  Conv3DTransposeLayer(std::int64_t filters, Window kernel_size, Conv3DTransposeOptions options = {})
      : ConvTransposeLayer(3, filters, std::move(kernel_size), std::move(options)) {}
};

struct Conv3DTranspose : LayerHandle<Conv3DTransposeLayer> {
  Conv3DTranspose(std::int64_t filters, Window kernel_size, Conv3DTransposeOptions options = {})
      : LayerHandle<Conv3DTransposeLayer>(
            std::make_shared<Conv3DTransposeLayer>(filters, std::move(kernel_size), std::move(options))) {}
};

}  // namespace cohort::layers
