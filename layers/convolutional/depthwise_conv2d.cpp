#include "cohort/layers/convolutional/depthwise_conv2d.h"

namespace cohort::layers {
COHORT_REGISTER(Layer, DepthwiseConv2DLayer, "DepthwiseConv2D");

}  // namespace cohort::layers
