#include "cohort/layers/convolutional/separable_conv1d.h"

namespace cohort::layers {
COHORT_REGISTER(Layer, SeparableConv1DLayer, "SeparableConv1D");

SeparableConv1D::SeparableConv1D(std::int64_t filters, Window kernel_size, SeparableConv1DOptions options)
    : LayerHandle<SeparableConv1DLayer>(
          std::make_shared<SeparableConv1DLayer>(filters, std::move(kernel_size), std::move(options))) {}

}  // namespace cohort::layers
