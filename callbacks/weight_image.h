#pragma once

#include <optional>

#include "cohort/core/tensor.h"

namespace cohort::callbacks {

// A weight as images of shape (count, height, width, channels), laid out as Keras's TensorBoard callback does: a vector
// is a column, a matrix lies on its longer side, each filter of a convolution is an image. None where it cannot be
// drawn.
std::optional<Tensor> weight_image(const Tensor& weight);

}  // namespace cohort::callbacks
