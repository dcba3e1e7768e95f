#include "cohort/layers/convolutional/conv1d.h"

namespace cohort::layers {
COHORT_REGISTER(Layer, Conv1DLayer, "Conv1D");

}  // namespace cohort::layers
