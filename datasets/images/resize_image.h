#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "cohort/datasets/images/decode_image.h"

namespace cohort::datasets {

// How pixels between pixels are computed; tf.image.resize without antialiasing has the same.
enum class Interpolation { Bilinear, Nearest, Bicubic, Area, Lanczos3, Lanczos5, Gaussian, MitchellCubic };
// By Keras's names, in lower or upper case: "bilinear", "mitchellcubic"; throws for another one.
Interpolation interpolation_of(const char* who, const std::string& name);

// What becomes of an image whose sides have another ratio than the target's.
enum class AspectRatio {
  Stretch,  // its sides are scaled each by itself
  Crop,     // of its middle as much is taken as has the target's ratio
  Pad,      // all of it is shown, with black beside it
};

// What ImageResizer takes.
struct ResizeOptions {
  std::int64_t height = 256;
  std::int64_t width = 256;
  Interpolation interpolation = Interpolation::Bilinear;
  AspectRatio aspect_ratio = AspectRatio::Stretch;
};

// Resizes images of 8-bit pixels to float32 ones of one size. One thread at a time.
class ImageResizer {
 public:
  explicit ImageResizer(const ResizeOptions& options) : options_(options) {}

  // Writes the pixels, height x width x channels of them.
  void resize(const DecodedImage& image, float* target);
  // Makes room for images like those that another has had.
  void make_room_like(const ImageResizer& other);

 private:
  // For each pixel of the target along one axis, which pixels it is made of.
  struct Axis {
    std::int64_t taps = 0;            // that one pixel is made of at most
    std::vector<std::int32_t> first;  // the first of them
    std::vector<float> weights;       // `taps` for each; 0 where there are fewer

    void begin(std::int64_t size, std::int64_t most_taps);
    // Says where the pixels of one begin; the weights to be set.
    float* set(std::int64_t at, std::int64_t start);
  };
  // A part of an image, or of the target.
  struct Box {
    std::int64_t top, left, height, width;
  };

  Box box_of(const DecodedImage& image) const;
  Box target_box(const DecodedImage& image) const;
  void plan(std::int64_t input, std::int64_t output, Axis& axis) const;
  void plan_bilinear(std::int64_t input, std::int64_t output, Axis& axis) const;
  void plan_bicubic(std::int64_t input, std::int64_t output, Axis& axis) const;
  void plan_area(std::int64_t input, std::int64_t output, Axis& axis) const;
  void plan_kernel(std::int64_t input, std::int64_t output, Axis& axis) const;
  const float* line(const DecodedImage& image, const Box& box, std::int64_t row);
  void combine(const DecodedImage& image, const Box& box, std::int64_t row, float* target);

  ResizeOptions options_;
  Axis rows_, columns_;
  std::vector<float> widened_;           // a row of the image
  std::vector<float> lines_;             // rows of the image, resized along the width; as many as rows_ has taps
  std::vector<std::int64_t> line_rows_;  // which rows they are
  std::size_t line_size_ = 0;
};

}  // namespace cohort::datasets
