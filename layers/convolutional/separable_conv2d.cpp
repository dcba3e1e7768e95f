#include "cohort/layers/convolutional/separable_conv2d.h"

namespace cohort::layers {
COHORT_REGISTER(Layer, SeparableConv2DLayer, "SeparableConv2D");

SeparableConv2D::SeparableConv2D(std::int64_t filters, Window kernel_size, SeparableConv2DOptions options)
    : LayerHandle<SeparableConv2DLayer>(
          std::make_shared<SeparableConv2DLayer>(filters, std::move(kernel_size), std::move(options))) {}

}  // namespace cohort::layers
