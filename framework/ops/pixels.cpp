#include "cohort/ops/pixels.h"

#include <cmath>

#include "cohort/ops/array.h"
#include "cohort/ops/cast.h"
#include "cohort/ops/channels.h"
#include "cohort/ops/conv.h"
#include "cohort/ops/creation.h"
#include "cohort/ops/math.h"
#include "cohort/ops/reduce.h"

namespace cohort::ops {
namespace {

// Whether a size is made of whole blocks, or may be.
bool divides(std::int64_t block, std::int64_t size) { return size == kUnknown || (size >= block && size % block == 0); }

// Runs `compute` on the images of x, of which the sizes and the block are known to fit.
template <class Fits, class Compute>
Tensor with_blocks(const char* who, const Tensor& x, std::int64_t block, const std::string& data_format,
                   const char* expected, const Fits& fits, const Compute& compute) {
  if (block < 2) throw invalid_argument(who, "block_size must be at least 2", {{"block_size", block}});
  if (x.rank() != 4) throw invalid_argument(who, "x must have 4 axes", {{"x.shape", x.shape()}});
  return with_channels_last(who, x, data_format, [&](const Tensor& images) {
    const Shape& shape = images.shape();
    if (!fits(shape)) throw invalid_argument(who, expected, {{"x.shape", x.shape()}, {"block_size", block}});
    if (!shape.slice(1).fully_known()) {
      throw unimplemented(who, "height, width and channels must be known", {{"x.shape", x.shape()}});
    }
    return compute(images, shape[1], shape[2], shape[3]);
  });
}

}  // namespace

Tensor rgb_to_grayscale(const Tensor& images, const std::string& data_format) {
  return with_images_channels_last("rgb_to_grayscale", images, data_format, [&](const Tensor& x) {
    const std::int64_t channels = x.shape().back();
    if (channels == 1) return x;
    if (channels != 3) {
      throw invalid_argument("rgb_to_grayscale", "images of 3 channels, or of 1, are expected",
                             {{"images.shape", images.shape()}, {"data_format", data_format}});
    }
    const Tensor values = to_floating(x), weights = Tensor::of<float>({0.2989f, 0.587f, 0.114f}, {3});
    return cast(sum(values * cast(weights, values.dtype()), -1, keep_dims), x.dtype());
  });
}

// A convolution whose filters each pick one element of the window.
Tensor extract_patches(const Tensor& images, const std::vector<std::int64_t>& size,
                       const ExtractPatchesOptions& options) {
  if (size.empty() || size.size() > 2) {
    throw invalid_argument("extract_patches", "size must be (height, width)", {{"len(size)", size.size()}});
  }
  return with_images_channels_last("extract_patches", images, options.data_format, [&](const Tensor& x) {
    const std::int64_t height = size.front(), width = size.back(), channels = x.shape().back();
    const std::int64_t all = height * width * channels;
    const Tensor kernel = reshape(eye(all, all, 0, x.dtype()), {height, width, channels, all});
    return conv(x, kernel,
                {.strides = options.strides.empty() ? std::vector<std::int64_t>{height, width} : options.strides,
                 .padding = options.padding,
                 .dilation_rate = options.dilation_rate});
  });
}

Tensor depth_to_space(const Tensor& x, std::int64_t block, const std::string& data_format) {
  return with_blocks(
      "depth_to_space", x, block, data_format, "the channels must be a multiple of block_size squared",
      [=](const Shape& shape) {
        return shape[3] == kUnknown || (divides(block, shape[3]) && divides(block, shape[3] / block));
      },
      [=](const Tensor& images, std::int64_t height, std::int64_t width, std::int64_t channels) {
        const std::int64_t left = channels / block / block;
        const Tensor apart = reshape(images, {-1, height, width, block, block, left});
        return reshape(transpose(apart, {0, 1, 3, 2, 4, 5}), {-1, height * block, width * block, left});
      });
}

Tensor space_to_depth(const Tensor& x, std::int64_t block, const std::string& data_format) {
  return with_blocks(
      "space_to_depth", x, block, data_format, "height and width must be multiples of block_size",
      [=](const Shape& shape) { return divides(block, shape[1]) && divides(block, shape[2]); },
      [=](const Tensor& images, std::int64_t height, std::int64_t width, std::int64_t channels) {
        const std::int64_t rows = height / block, columns = width / block;
        const Tensor apart = reshape(images, {-1, rows, block, columns, block, channels});
        return reshape(transpose(apart, {0, 1, 3, 2, 4, 5}), {-1, rows, columns, channels * block * block});
      });
}

Tensor psnr(const Tensor& x1, const Tensor& x2, double max_val) {
  return 20.0 * std::log10(max_val) - 10.0 * log10(mean(square(x1 - x2)));
}

}  // namespace cohort::ops
