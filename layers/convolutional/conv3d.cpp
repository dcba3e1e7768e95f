#include "cohort/layers/convolutional/conv3d.h"

namespace cohort::layers {
COHORT_REGISTER(Layer, Conv3DLayer, "Conv3D");

}  // namespace cohort::layers
