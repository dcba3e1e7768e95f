#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cohort/core/tensor.h"

namespace cohort::ops {

struct ConvOptions {
  std::vector<std::int64_t> strides = {1, 1};
  std::string padding = "valid";  // or "same"
  std::vector<std::int64_t> dilation_rate = {1, 1};
};

// 2-D convolution: inputs (batch, height, width, channels), kernel (height, width, channels, filters) -> (batch,
// height, width, filters).
Tensor conv2d(const Tensor& inputs, const Tensor& kernel, const ConvOptions& options = {});

}  // namespace cohort::ops
