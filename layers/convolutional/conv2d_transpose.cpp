#include "cohort/layers/convolutional/conv2d_transpose.h"

namespace cohort::layers {
COHORT_REGISTER(Layer, Conv2DTransposeLayer, "Conv2DTranspose");

}  // namespace cohort::layers
