#include "cohort/layers/convolutional/conv3d.h"

namespace cohort::layers {
COHORT_REGISTER(Layer, Conv3DLayer, "Conv3D");

Conv3D::Conv3D(std::int64_t filters, Window kernel_size, Conv3DOptions options)
    : LayerHandle<Conv3DLayer>(std::make_shared<Conv3DLayer>(filters, std::move(kernel_size), std::move(options))) {}

}  // namespace cohort::layers
