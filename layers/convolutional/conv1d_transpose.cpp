#include "cohort/layers/convolutional/conv1d_transpose.h"

namespace cohort::layers {
COHORT_REGISTER(Layer, Conv1DTransposeLayer, "Conv1DTranspose");

Conv1DTranspose::Conv1DTranspose(std::int64_t filters, Window kernel_size, Conv1DTransposeOptions options)
    : LayerHandle<Conv1DTransposeLayer>(
          std::make_shared<Conv1DTransposeLayer>(filters, std::move(kernel_size), std::move(options))) {}

}  // namespace cohort::layers
