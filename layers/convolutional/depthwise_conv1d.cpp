#include "cohort/layers/convolutional/depthwise_conv1d.h"

namespace cohort::layers {
COHORT_REGISTER(Layer, DepthwiseConv1DLayer, "DepthwiseConv1D");

}  // namespace cohort::layers
