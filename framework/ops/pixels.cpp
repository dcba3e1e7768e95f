#include "cohort/ops/pixels.h"

#include <cmath>

#include "cohort/ops/array.h"
#include "cohort/ops/conv.h"
#include "cohort/ops/creation.h"
#include "cohort/ops/math.h"
#include "cohort/ops/reduce.h"

namespace cohort::ops {
namespace {

// Calls a function of (..., height, width, channels) whatever the data format.
template <class Function>
Tensor of_pixels(const Tensor& x, const std::string& data_format, const Function& function) {
  if (data_format != "channels_first") return function(x);
  return moveaxis(function(moveaxis(x, -3, -1)), -1, -3);
}

}  // namespace

Tensor rgb_to_grayscale(const Tensor& images, const std::string& data_format) {
  return of_pixels(images, data_format, [](const Tensor& x) {
    const Tensor weights = Tensor::of<float>({0.2989f, 0.587f, 0.114f}, {3});
    return sum(x * cast(weights, x.dtype()), -1, keep_dims);
  });
}

// A convolution whose filters each pick one element of the window.
Tensor extract_patches(const Tensor& images, const std::vector<std::int64_t>& size,
                       const ExtractPatchesOptions& options) {
  if (size.empty() || size.size() > 2) {
    throw invalid_argument("extract_patches", "size must be (height, width)", {{"len(size)", size.size()}});
  }
  const std::int64_t channels = images.shape().dim(options.data_format == "channels_first" ? -3 : -1);
  const std::int64_t height = size.front(), width = size.back(), all = height * width * channels;
  const Tensor kernel = reshape(eye(all, all, 0, images.dtype()), {height, width, channels, all});
  const bool single = images.rank() == 3;
  const Tensor result = conv(single ? expand_dims(images, 0) : images, kernel,
                             {options.strides.empty() ? std::vector<std::int64_t>{height, width} : options.strides,
                              options.padding, options.data_format, options.dilation_rate});
  return single ? squeeze(result, {0}) : result;
}

Tensor depth_to_space(const Tensor& x, std::int64_t block, const std::string& data_format) {
  return of_pixels(x, data_format, [block](const Tensor& from) {
    const std::int64_t height = from.shape()[1], width = from.shape()[2];
    const std::int64_t channels = from.shape()[3] / (block * block);
    const Tensor apart = reshape(from, {-1, height, width, block, block, channels});
    return reshape(transpose(apart, {0, 1, 3, 2, 4, 5}), {-1, height * block, width * block, channels});
  });
}

Tensor space_to_depth(const Tensor& x, std::int64_t block, const std::string& data_format) {
  return of_pixels(x, data_format, [block](const Tensor& from) {
    const std::int64_t height = from.shape()[1] / block, width = from.shape()[2] / block, channels = from.shape()[3];
    const Tensor apart = reshape(from, {-1, height, block, width, block, channels});
    return reshape(transpose(apart, {0, 1, 3, 2, 4, 5}), {-1, height, width, channels * block * block});
  });
}

Tensor psnr(const Tensor& x1, const Tensor& x2, double max_val) {
  return 20.0 * std::log10(max_val) - 10.0 * log10(mean(square(x1 - x2)));
}

}  // namespace cohort::ops
