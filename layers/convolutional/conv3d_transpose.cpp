#include "cohort/layers/convolutional/conv3d_transpose.h"

namespace cohort::layers {
COHORT_REGISTER(Layer, Conv3DTransposeLayer, "Conv3DTranspose");

Conv3DTranspose::Conv3DTranspose(std::int64_t filters, Window kernel_size, Conv3DTransposeOptions options)
    : LayerHandle<Conv3DTransposeLayer>(
          std::make_shared<Conv3DTransposeLayer>(filters, std::move(kernel_size), std::move(options))) {}

}  // namespace cohort::layers
