#pragma once

#include <string>

#include "cohort/core/tensor.h"

namespace cohort::datasets {

// Reads an IDX file of bytes (the format of MNIST and its kin), plain or gzipped; uint8 with the file's shape.
Tensor read_idx(const std::string& path);
// The shape alone, which its first bytes say.
Shape read_idx_shape(const std::string& path);

}  // namespace cohort::datasets
