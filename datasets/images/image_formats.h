#pragma once

#include <cstdint>
#include <string_view>

#include "cohort/core/error.h"
#include "cohort/datasets/images/decode_image.h"

namespace cohort::datasets {

// The decoders behind decode_image(), one for each format. They give the channels asked for, and throw DataLoss.
void decode_jpeg(std::string_view bytes, const DecodeImageOptions& options, DecodedImage& image);
void decode_png(std::string_view bytes, std::int64_t channels, DecodedImage& image);
void decode_bmp(std::string_view bytes, std::int64_t channels, DecodedImage& image);
void decode_gif(std::string_view bytes, std::int64_t channels, DecodedImage& image);

// What is wrong with a file, as an error.
Error bad_image(const char* format, std::string_view problem);
// Throws unless an image of this size can be in a file of this many bytes: no memory is taken on a header's word.
//   most_of_byte: pixels that one byte of the file can stand for.
void check_image_size(const char* format, std::int64_t height, std::int64_t width, std::size_t bytes,
                      std::int64_t most_of_byte);

// Writes a pixel with 1, 3 or 4 channels; grey is weighted as in JPEG.
inline void put_pixel(std::uint8_t* target, std::int64_t channels, int red, int green, int blue, int alpha = 255) {
  if (channels == 1) {
    target[0] = static_cast<std::uint8_t>((19595 * red + 38470 * green + 7471 * blue + 32768) >> 16);
    return;
  }
  target[0] = static_cast<std::uint8_t>(red);
  target[1] = static_cast<std::uint8_t>(green);
  target[2] = static_cast<std::uint8_t>(blue);
  if (channels == 4) target[3] = static_cast<std::uint8_t>(alpha);
}

// A little-endian number of a file; the caller has checked that it is inside.
inline std::uint32_t image_number(std::string_view bytes, std::size_t at, std::size_t width) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < width; ++i) value |= std::uint32_t{static_cast<std::uint8_t>(bytes[at + i])} << (8 * i);
  return value;
}

}  // namespace cohort::datasets
