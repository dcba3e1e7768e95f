#include "cohort/layers/convolutional/separable_conv1d.h"

namespace cohort::layers {
COHORT_REGISTER(Layer, SeparableConv1DLayer, "SeparableConv1D");

}  // namespace cohort::layers
