#include "cohort/layers/convolutional/separable_conv2d.h"

namespace cohort::layers {
COHORT_REGISTER(Layer, SeparableConv2DLayer, "SeparableConv2D");

}  // namespace cohort::layers
