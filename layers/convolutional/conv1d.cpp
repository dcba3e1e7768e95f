#include "cohort/layers/convolutional/conv1d.h"

namespace cohort::layers {
COHORT_REGISTER(Layer, Conv1DLayer, "Conv1D");

Conv1D::Conv1D(std::int64_t filters, Window kernel_size, Conv1DOptions options)
    : LayerHandle<Conv1DLayer>(std::make_shared<Conv1DLayer>(filters, std::move(kernel_size), std::move(options))) {}

}  // namespace cohort::layers
