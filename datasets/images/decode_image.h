#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "cohort/core/tensor.h"

namespace cohort::datasets {

// An image with more pixels is refused.
inline constexpr std::int64_t kMostPixels = std::int64_t{1} << 28;

// What decode_image takes besides the bytes.
struct DecodeImageOptions {
  // Channels of the result: 1 grey, 3 RGB, 4 RGBA; 0: as many as the file has.
  std::int64_t channels = 0;
  // Decode JPEG with libjpeg's accurate transform, as Pillow does, and not with the fast one of TensorFlow.
  bool accurate = false;
  // Give what there is of a JPEG that is cut off, and anything for the rest; else it is an error.
  bool try_recover_truncated = false;
  // Where both are given, a JPEG may be decoded at a half, a quarter or an eighth of its size, as long as it stays at
  // least this large. That is quicker, and the pixels are averages.
  std::int64_t least_height = 0;
  // The other of the two.
  std::int64_t least_width = 0;
};

// Pixels of 8 bits, row by row, in memory that is used again.
class DecodedImage {
 public:
  // Makes room for pixels that are not set yet.
  void renew(std::int64_t height, std::int64_t width, std::int64_t channels);
  // Rows.
  std::int64_t height() const { return height_; }
  // Pixels of a row.
  std::int64_t width() const { return width_; }
  // Bytes of a pixel.
  std::int64_t channels() const { return channels_; }
  // Bytes of all pixels.
  std::size_t bytes() const { return static_cast<std::size_t>(height_ * width_ * channels_); }
  // The first pixel of a row.
  std::uint8_t* row(std::int64_t y) { return pixels_.get() + y * width_ * channels_; }
  const std::uint8_t* row(std::int64_t y) const { return pixels_.get() + y * width_ * channels_; }
  // Makes room for as much as another has.
  void reserve_like(const DecodedImage& other) { reserve(other.capacity_); }

 private:
  void reserve(std::size_t bytes);

  std::int64_t height_ = 0, width_ = 0, channels_ = 0;
  std::unique_ptr<std::uint8_t[]> pixels_;
  std::size_t capacity_ = 0;
};

// Decodes a JPEG, PNG, BMP or GIF file (its first frame), whichever it is. The pixels are those of
// tf.image.decode_image; where that refuses a number of channels, they are converted. Thread-safe.
//   bytes: the whole file.
//   image: where to; its memory is used again.
void decode_image(std::string_view bytes, const DecodeImageOptions& options, DecodedImage& image);
// The same as a uint8 tensor (height, width, channels).
Tensor decode_image(std::string_view bytes, const DecodeImageOptions& options = {});

}  // namespace cohort::datasets
