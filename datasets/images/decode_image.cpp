#include "cohort/datasets/images/decode_image.h"

#include <cstring>
#include <string>

#include "cohort/datasets/images/image_formats.h"

namespace cohort::datasets {
namespace {

constexpr const char* kDecodeImage = "datasets.decode_image";
// As large an image may be made of any file.
constexpr std::int64_t kSmallImage = std::int64_t{1} << 22;

}  // namespace

void DecodedImage::renew(std::int64_t height, std::int64_t width, std::int64_t channels) {
  height_ = height;
  width_ = width;
  channels_ = channels;
  reserve(bytes());
}

void DecodedImage::reserve(std::size_t bytes) {
  if (capacity_ >= bytes) return;
  pixels_.reset();
  capacity_ = 0;
  pixels_ = std::make_unique_for_overwrite<std::uint8_t[]>(bytes);
  capacity_ = bytes;
}

Error bad_image(const char* format, std::string_view problem) {
  return {ErrorCode::DataLoss,
          kDecodeImage,
          std::string("a whole ") + format + " file is expected",
          {{"problem", problem}}};
}

void check_image_size(const char* format, std::int64_t height, std::int64_t width, std::size_t bytes,
                      std::int64_t most_of_byte) {
  if (height < 1 || width < 1) throw bad_image(format, "it has no pixels");
  if (width > kMostPixels / height) {
    throw Error(ErrorCode::ResourceExhausted, kDecodeImage, "an image of at most 2^28 pixels is expected",
                {{"height", height}, {"width", width}});
  }
  if (height * width > kSmallImage && height * width / most_of_byte > static_cast<std::int64_t>(bytes)) {
    throw bad_image(format, "it is too short for its size");
  }
}

void decode_image(std::string_view bytes, const DecodeImageOptions& options, DecodedImage& image) {
  if (options.channels != 0 && options.channels != 1 && options.channels != 3 && options.channels != 4) {
    throw invalid_argument(kDecodeImage, "0, 1, 3 or 4 channels are expected", {{"channels", options.channels}});
  }
  if (bytes.starts_with("\xff\xd8\xff")) return decode_jpeg(bytes, options, image);
  if (bytes.starts_with("\x89PNG\r\n\x1a\n")) return decode_png(bytes, options.channels, image);
  if (bytes.starts_with("GIF87a") || bytes.starts_with("GIF89a")) return decode_gif(bytes, options.channels, image);
  if (bytes.starts_with("BM")) return decode_bmp(bytes, options.channels, image);
  throw Error(ErrorCode::DataLoss, kDecodeImage, "a JPEG, PNG, BMP or GIF file is expected", {{"bytes", bytes.size()}});
}

Tensor decode_image(std::string_view bytes, const DecodeImageOptions& options) {
  DecodedImage image;
  decode_image(bytes, options, image);
  Tensor pixels = Tensor::empty(DType::UInt8, {image.height(), image.width(), image.channels()}, cpu());
  std::memcpy(pixels.raw(), image.row(0), image.bytes());
  return pixels;
}

}  // namespace cohort::datasets
