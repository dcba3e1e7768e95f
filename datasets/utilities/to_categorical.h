#pragma once

#include <cstdint>

#include "cohort/core/tensor.h"

namespace cohort::utils {

// Labels as rows of zeros with a 1 at the label: float32, with one more axis than the labels, whose last axis is
// dropped where it has one element.
//   labels: integers from 0 to num_classes - 1, of any shape.
//   num_classes: 0: the largest label and one more.
Tensor to_categorical(const Tensor& labels, std::int64_t num_classes = 0);

}  // namespace cohort::utils
