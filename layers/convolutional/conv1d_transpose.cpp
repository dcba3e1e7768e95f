#include "cohort/layers/convolutional/conv1d_transpose.h"

namespace cohort::layers {
COHORT_REGISTER(Layer, Conv1DTransposeLayer, "Conv1DTranspose");

}  // namespace cohort::layers
