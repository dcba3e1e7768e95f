#include "cohort/layers/convolutional/depthwise_conv1d.h"

namespace cohort::layers {
COHORT_REGISTER(Layer, DepthwiseConv1DLayer, "DepthwiseConv1D");

DepthwiseConv1D::DepthwiseConv1D(Window kernel_size, DepthwiseConv1DOptions options)
    : LayerHandle<DepthwiseConv1DLayer>(
          std::make_shared<DepthwiseConv1DLayer>(std::move(kernel_size), std::move(options))) {}

}  // namespace cohort::layers
