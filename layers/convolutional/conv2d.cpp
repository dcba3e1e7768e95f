#include "cohort/layers/convolutional/conv2d.h"

namespace cohort::layers {
COHORT_REGISTER(Layer, Conv2DLayer, "Conv2D");

}  // namespace cohort::layers
