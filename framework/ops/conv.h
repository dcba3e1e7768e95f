#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cohort/core/tensor.h"

namespace cohort::ops {

// What the convolutions take besides their tensors. One number stands for all spatial axes.
struct ConvOptions {
  std::vector<std::int64_t> strides = {1};
  std::string padding = "valid";  // "same", or with one spatial axis "causal"
  std::string data_format = "channels_last";
  std::vector<std::int64_t> dilation_rate = {1};
};

// What conv_transpose takes besides its tensors. One number stands for all spatial axes.
struct ConvTransposeOptions {
  std::vector<std::int64_t> strides = {1};
  std::string padding = "valid";                                 // or "same"
  std::optional<std::vector<std::int64_t>> output_padding = {};  // none: as long as the input times the strides
  std::string data_format = "channels_last";
  std::vector<std::int64_t> dilation_rate = {1};
};

// Convolution over one to three spatial axes: inputs (batch, spatial axes, channels), kernel (spatial axes, channels /
// groups, filters) -> (batch, spatial axes, filters).
Tensor conv(const Tensor& inputs, const Tensor& kernel, const ConvOptions& options = {});
// Each channel by filters of its own: kernel (spatial axes, channels, multiplier) -> (batch, spatial axes, channels *
// multiplier).
Tensor depthwise_conv(const Tensor& inputs, const Tensor& kernel, const ConvOptions& options = {});
// A depthwise convolution and a convolution of size 1 after it.
Tensor separable_conv(const Tensor& inputs, const Tensor& depthwise_kernel, const Tensor& pointwise_kernel,
                      const ConvOptions& options = {});
// The transpose of a convolution, which makes an image larger: inputs (batch, spatial axes, channels), kernel (spatial
// axes, filters, channels) -> (batch, spatial axes, filters).
Tensor conv_transpose(const Tensor& inputs, const Tensor& kernel, const ConvTransposeOptions& options = {});

}  // namespace cohort::ops
