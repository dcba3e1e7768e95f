#include "cohort/layers/convolutional/depthwise_conv2d.h"

namespace cohort::layers {
COHORT_REGISTER(Layer, DepthwiseConv2DLayer, "DepthwiseConv2D");

DepthwiseConv2D::DepthwiseConv2D(Window kernel_size, DepthwiseConv2DOptions options)
    : LayerHandle<DepthwiseConv2DLayer>(
          std::make_shared<DepthwiseConv2DLayer>(std::move(kernel_size), std::move(options))) {}

}  // namespace cohort::layers
