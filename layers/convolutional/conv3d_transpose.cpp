#include "cohort/layers/convolutional/conv3d_transpose.h"

namespace cohort::layers {
COHORT_REGISTER(Layer, Conv3DTransposeLayer, "Conv3DTranspose");

}  // namespace cohort::layers
