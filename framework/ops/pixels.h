#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cohort/core/tensor.h"

namespace cohort::ops {

// Images (batch, height, width, 3) of red, green and blue, or one without a batch, as (batch, height, width, 1) of the
// same type; images of one channel stay as they are.
Tensor rgb_to_grayscale(const Tensor& images, const std::string& data_format = "channels_last");

struct ExtractPatchesOptions {
  std::vector<std::int64_t> strides = {};  // left out: the patch's size
  std::vector<std::int64_t> dilation_rate = {1};
  std::string padding = "valid";  // or "same"
  std::string data_format = "channels_last";
};
// The patches of `size` (height, width) of images (batch, height, width, channels), or of one without a batch, each as
// the channels of one pixel: (batch, rows, columns, height * width * channels).
Tensor extract_patches(const Tensor& images, const std::vector<std::int64_t>& size,
                       const ExtractPatchesOptions& options = {});

// Blocks of channels spread over height and width: (batch, height, width, channels) to (batch, height * block_size,
// width * block_size, channels / block_size^2); block_size is 2 or more.
Tensor depth_to_space(const Tensor& x, std::int64_t block_size, const std::string& data_format = "channels_last");
// The reverse.
Tensor space_to_depth(const Tensor& x, std::int64_t block_size, const std::string& data_format = "channels_last");
// The peak signal-to-noise ratio of two images in decibels; `max_val` is the largest value a pixel may have.
Tensor psnr(const Tensor& x1, const Tensor& x2, double max_val);

}  // namespace cohort::ops
