#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cohort/core/tensor.h"

namespace cohort::ops {

// What max_pool and average_pool take besides the window.
struct PoolOptions {
  std::vector<std::int64_t> strides = {};  // left out: the window's size
  std::string padding = "valid";           // or "same"
  std::string data_format = "channels_last";
};

// The largest element of each window over the axes between batch and channels: (batch, ..., channels) to (batch,
// windows along each axis, channels). One number stands for all axes. Padding does not count.
Tensor max_pool(const Tensor& inputs, const std::vector<std::int64_t>& pool_size, const PoolOptions& options = {});
// The mean of each window, in the same way.
Tensor average_pool(const Tensor& inputs, const std::vector<std::int64_t>& pool_size, const PoolOptions& options = {});

// max_pool with windows chosen so that there are `output_size` of them along each axis.
Tensor adaptive_max_pool(const Tensor& inputs, const std::vector<std::int64_t>& output_size,
                         const std::string& data_format = "channels_last");
// average_pool with windows chosen in the same way.
Tensor adaptive_average_pool(const Tensor& inputs, const std::vector<std::int64_t>& output_size,
                             const std::string& data_format = "channels_last");

}  // namespace cohort::ops
