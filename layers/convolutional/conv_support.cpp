#include "cohort/layers/convolutional/conv_support.h"

#include <algorithm>
#include <cctype>

#include "cohort/core/text.h"
#include "cohort/layers/spatial_axes.h"
#include "cohort/ops/array.h"
#include "cohort/ops/cast.h"
#include "cohort/ops/math.h"

namespace cohort::layers {
namespace {

bool above_one(const Window& window) {
  return std::any_of(window.sizes.begin(), window.sizes.end(), [](std::int64_t size) { return size > 1; });
}

}  // namespace

void standardize_conv(const std::string& who, int rank, Window& kernel_size, Window& strides, Window& dilation_rate,
                      std::string& padding) {
  kernel_size.standardize(who, "kernel_size", rank);
  strides.standardize(who, "strides", rank);
  dilation_rate.standardize(who, "dilation_rate", rank);
  std::transform(padding.begin(), padding.end(), padding.begin(),
                 [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
  const bool causal = who == "Conv1D";
  if (padding == "valid" || padding == "same" || (causal && padding == "causal")) return;
  throw invalid_argument(who, std::string("padding must be 'valid'") + (causal ? ", 'same' or 'causal'" : " or 'same'"),
                         {{"padding", in_quotes(padding)}});
}

void check_strides_or_dilation(const std::string& who, const Window& strides, const Window& dilation_rate) {
  if (!above_one(strides) || !above_one(dilation_rate)) return;
  throw invalid_argument(who, "strides and dilation_rate cannot both be above 1",
                         {{"strides", Shape(strides.sizes)}, {"dilation_rate", Shape(dilation_rate.sizes)}});
}

std::int64_t conv_channels(const Layer& layer, const Shape& input, int rank, const std::string& data_format,
                           std::int64_t expected) {
  check_spatial_rank(layer, input, rank, data_format);
  const std::int64_t channels = data_format == "channels_first" ? input[1] : input.back();
  if (expected == kUnknown && channels <= 0) {
    throw invalid_argument(layer.title(), "the number of channels must be known and positive",
                           {{"input.shape", input}});
  }
  if (expected != kUnknown && channels != expected) {
    throw invalid_argument(layer.title(),
                           "input must have " + std::to_string(expected) + " channels, as it was built for",
                           {{"input.shape", input}, {"data_format", data_format}});
  }
  return channels;
}

void check_kernel_fits(const Layer& layer, const Shape& input, const std::string& data_format,
                       const Window& kernel_size, const Window& dilation_rate, const std::string& padding) {
  if (padding != "valid") return;
  const int first = data_format == "channels_first" ? 2 : 1;
  for (std::size_t i = 0; i < kernel_size.sizes.size(); ++i) {
    const std::int64_t size = input[first + static_cast<int>(i)];
    if (size == kUnknown || size > (kernel_size.sizes[i] - 1) * dilation_rate.sizes[i]) continue;
    throw invalid_argument(layer.title(), "the kernel must fit into the input",
                           {{"input.shape", input},
                            {"kernel_size", Shape(kernel_size.sizes)},
                            {"dilation_rate", Shape(dilation_rate.sizes)}},
                           "Use padding='same' or a smaller kernel.");
  }
}

Tensor conv_input(const Layer& layer, const Tensor& input, const std::string& data_format) {
  const Tensor x = ops::cast(input, layer.compute_dtype());
  return data_format == "channels_first" ? ops::moveaxis(x, 1, -1) : x;
}

Tensor conv_output(const Tensor& result, const Variable& bias, const std::string& data_format,
                   const Ref<cohort::Activation>& activation) {
  Tensor output = bias.defined() ? result + bias : result;
  if (data_format == "channels_first") output = ops::moveaxis(output, -1, 1);
  return activation ? (*activation)(output) : output;
}

}  // namespace cohort::layers
