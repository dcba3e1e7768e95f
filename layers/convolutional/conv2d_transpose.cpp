#include "cohort/layers/convolutional/conv2d_transpose.h"

namespace cohort::layers {
COHORT_REGISTER(Layer, Conv2DTransposeLayer, "Conv2DTranspose");

Conv2DTranspose::Conv2DTranspose(std::int64_t filters, Window kernel_size, Conv2DTransposeOptions options)
    : LayerHandle<Conv2DTransposeLayer>(
          std::make_shared<Conv2DTransposeLayer>(filters, std::move(kernel_size), std::move(options))) {}

}  // namespace cohort::layers
