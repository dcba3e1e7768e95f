#pragma once

#include <cstdint>
#include <string>

#include "cohort/core/tensor.h"

namespace cohort::ops {

// What resize takes besides the size.
struct ResizeOptions {
  std::string interpolation = "bilinear";  // or "nearest", "bicubic", "lanczos3", "lanczos5", "area"
  bool antialias = false;                  // on the way down, let every input count
};

// Images (batch, height, width, channels) in another size. Pixels are squares: the corners of input and output agree.
Tensor resize(const Tensor& images, std::int64_t height, std::int64_t width, const ResizeOptions& options = {});
// Throws, naming `who`, unless resize knows the interpolation.
void check_interpolation(const std::string& who, const std::string& interpolation);

// What affine_transform takes besides its tensors.
struct AffineTransformOptions {
  std::string interpolation = "bilinear";  // or "nearest"
  std::string fill_mode = "constant";      // what lies outside: "constant", "nearest", "reflect", "wrap"
  // Value of what lies outside, with fill_mode "constant".
  double fill_value = 0.0;
};

// Images (batch, height, width, channels) seen through a projective map each: output (x, y) shows the input at
// ((a0 x + a1 y + a2) / k, (b0 x + b1 y + b2) / k) with k = c0 x + c1 y + 1, where (a0, a1, a2, b0, b1, b2, c0, c1) is
// a row of `transform` (batch or 1, 8) in float32. No gradient flows to the transform.
Tensor affine_transform(const Tensor& images, const Tensor& transform, const AffineTransformOptions& options = {});

}  // namespace cohort::ops
