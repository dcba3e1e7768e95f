#include <array>
#include <vector>

#include "cohort/datasets/images/resize_image.h"
#include "tests/fuzz/fuzz_target.h"

namespace {

using namespace cohort;

// The bits of the first byte; what follows is the file.
struct ImageChoices {
  explicit ImageChoices(std::uint8_t bits)
      : decoding{.channels = std::array<std::int64_t, 4>{0, 1, 3, 4}[bits & 3],
                 .accurate = (bits & 4) != 0,
                 .try_recover_truncated = (bits & 8) != 0},
        resizing{.height = 5,
                 .width = 7,
                 .interpolation = static_cast<datasets::Interpolation>(bits >> 5),
                 .aspect_ratio = static_cast<datasets::AspectRatio>((bits >> 4) % 3)} {
    if (bits & 16) {
      decoding.least_height = resizing.height;
      decoding.least_width = resizing.width;
    }
  }

  datasets::DecodeImageOptions decoding;
  datasets::ResizeOptions resizing;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t count) {
  if (count == 0) return 0;
  const ImageChoices choices(bytes[0]);
  return fuzz::read_or_refuse([&] {
    datasets::DecodedImage image;
    decode_image(fuzz::text_of(bytes + 1, count - 1), choices.decoding, image);
    fuzz::require(image.height() > 0 && image.width() > 0);
    fuzz::require(choices.decoding.channels == 0 || image.channels() == choices.decoding.channels);
    std::vector<float> resized(static_cast<std::size_t>(choices.resizing.height * choices.resizing.width) *
                               static_cast<std::size_t>(image.channels()));
    datasets::ImageResizer(choices.resizing).resize(image, resized.data());
    // An interpolation between bytes stays between them.
    if (choices.resizing.interpolation == datasets::Interpolation::Bilinear) {
      for (const float value : resized) fuzz::require(value >= 0 && value <= 255);
    }
  });
}
