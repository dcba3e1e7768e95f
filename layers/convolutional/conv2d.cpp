#include "cohort/layers/convolutional/conv2d.h"

namespace cohort::layers {
COHORT_REGISTER(Layer, Conv2DLayer, "Conv2D");

Conv2D::Conv2D(std::int64_t filters, Window kernel_size, Conv2DOptions options)
    : LayerHandle<Conv2DLayer>(std::make_shared<Conv2DLayer>(filters, std::move(kernel_size), std::move(options))) {}

}  // namespace cohort::layers
