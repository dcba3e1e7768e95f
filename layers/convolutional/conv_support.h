#pragma once

#include <cstdint>
#include <string>

#include "cohort/layers/convolutional/window.h"
#include "cohort/model/layer/activation.h"
#include "cohort/model/layer/layer.h"

// What all convolution layers have in common; `rank` counts their spatial axes.
namespace cohort::layers {

// Brings the windows to one number for each axis and the padding to lower case; throws on values Keras refuses.
void standardize_conv(const std::string& who, int rank, Window& kernel_size, Window& strides, Window& dilation_rate,
                      std::string& padding);
// Throws where both strides and dilation_rate are above 1.
void check_strides_or_dilation(const std::string& who, const Window& strides, const Window& dilation_rate);

// The number of channels of an input; throws unless the input has the layer's axes and, where `expected` is known, as
// many channels as the layer was built for.
std::int64_t conv_channels(const Layer& layer, const Shape& input, int rank, const std::string& data_format,
                           std::int64_t expected = kUnknown);
// Throws where a kernel that may not leave the input is larger than it.
void check_kernel_fits(const Layer& layer, const Shape& input, const std::string& data_format,
                       const Window& kernel_size, const Window& dilation_rate, const std::string& padding);

// An input as the ops take it: in the type the layer computes in, with the channels last.
Tensor conv_input(const Layer& layer, const Tensor& input, const std::string& data_format);
// An op's result as the layer gives it: with the bias, if there is one, in the layer's data format, activated.
Tensor conv_output(const Tensor& result, const Variable& bias, const std::string& data_format,
                   const Ref<cohort::Activation>& activation);

}  // namespace cohort::layers
