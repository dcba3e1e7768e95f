#include "cohort/files/png.h"

#include <png.h>

#include "cohort/core/error.h"

namespace cohort {

std::string encode_png(std::span<const std::uint8_t> pixels, std::int64_t height, std::int64_t width,
                       std::int64_t channels) {
  constexpr std::int64_t kLargestSide = 1 << 20;
  if (height < 1 || width < 1 || height > kLargestSide || width > kLargestSide || channels < 1 || channels > 4 ||
      static_cast<std::int64_t>(pixels.size()) != height * width * channels) {
    throw invalid_argument("encode_png", "pixels of shape (height, width, channels) are expected, channels 1 to 4",
                           {{"height", height}, {"width", width}, {"channels", channels}, {"pixels", pixels.size()}});
  }
  constexpr png_uint_32 kFormats[] = {PNG_FORMAT_GRAY, PNG_FORMAT_GA, PNG_FORMAT_RGB, PNG_FORMAT_RGBA};
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<png_uint_32>(width);
  image.height = static_cast<png_uint_32>(height);
  image.format = kFormats[channels - 1];
  png_alloc_size_t size = PNG_IMAGE_PNG_SIZE_MAX(image);
  std::string file(size, '\0');
  const int good = png_image_write_to_memory(&image, file.data(), &size, 0, pixels.data(), 0, nullptr);
  if (good == 0) throw internal_error("encode_png", "the image must be encoded", {{"error", image.message}});
  file.resize(size);
  return file;
}

}  // namespace cohort
