#pragma once

#include <algorithm>
#include <cstdint>

#include "cohort/layers/layer_checks.h"
#include "cohort/ops/slicing.h"

namespace cohort::layers {

// Throws unless both sizes are positive.
inline void check_new_size(const Layer& layer, std::int64_t height, std::int64_t width) {
  if (height > 0 && width > 0) return;
  throw invalid_argument(layer.class_name(), "height and width must be positive",
                         {{"height", height}, {"width", width}});
}

// size * numerator / denominator, cut off; in float32 as Keras does.
inline std::int64_t scaled(std::int64_t size, std::int64_t numerator, std::int64_t denominator) {
  return static_cast<std::int64_t>(static_cast<float>(size * numerator) / static_cast<float>(denominator));
}

// The block of images (batch, height, width, channels) that starts at (top, left).
inline Tensor crop(const Tensor& images, std::int64_t top, std::int64_t left, std::int64_t height, std::int64_t width) {
  return ops::slice(images, {0, top, left, 0}, {-1, height, width, -1});
}

// The largest block in the middle of images of known size that has the shape of height x width.
inline Tensor crop_to_ratio(const Tensor& images, std::int64_t height, std::int64_t width) {
  const std::int64_t old_height = images.shape()[1], old_width = images.shape()[2];
  const std::int64_t rows = std::max<std::int64_t>(1, std::min(old_height, scaled(old_width, height, width)));
  const std::int64_t cols = std::max<std::int64_t>(1, std::min(old_width, scaled(old_height, width, height)));
  return crop(images, (old_height - rows) / 2, (old_width - cols) / 2, rows, cols);
}

}  // namespace cohort::layers
