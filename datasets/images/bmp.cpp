#include <algorithm>
#include <array>

#include "cohort/datasets/images/image_formats.h"

namespace cohort::datasets {
namespace {

constexpr const char* kBmp = "BMP";
constexpr std::size_t kBmpFileHeader = 14, kLeastBmpHeader = 40;
constexpr std::uint32_t kBmpPlain = 0, kBmpBitfields = 3, kBmpAlphaBitfields = 6;

struct BmpColor {
  std::uint8_t red = 0, green = 0, blue = 0;
};

struct BmpLayout {
  std::int64_t height = 0, width = 0;
  bool top_down = false;
  std::uint32_t bits = 0;  // of a pixel
  std::size_t pixels = 0, row_bytes = 0;
  std::array<BmpColor, 256> palette;
  std::uint32_t colors = 0;  // of the palette

  bool is_grey() const {
    return bits <= 8 && std::all_of(palette.begin(), palette.begin() + colors,
                                    [](const BmpColor& c) { return c.red == c.green && c.green == c.blue; });
  }
};

// Other orders of the channels are nowhere to be seen.
bool has_usual_masks(std::string_view bytes) {
  return bytes.size() >= kBmpFileHeader + kLeastBmpHeader + 12 && image_number(bytes, 54, 4) == 0xff0000 &&
         image_number(bytes, 58, 4) == 0xff00 && image_number(bytes, 62, 4) == 0xff;
}

void read_palette(std::string_view bytes, std::size_t header, BmpLayout& layout) {
  const std::uint32_t said = image_number(bytes, 46, 4), most = 1u << layout.bits;
  layout.colors = said == 0 ? most : std::min(said, most);
  const std::size_t at = kBmpFileHeader + header;
  if (at > bytes.size() || (bytes.size() - at) / 4 < layout.colors) throw bad_image(kBmp, "it is cut off");
  for (std::uint32_t i = 0; i < layout.colors; ++i) {
    const std::uint32_t color = image_number(bytes, at + 4 * i, 4);
    layout.palette[i] = {static_cast<std::uint8_t>(color >> 16), static_cast<std::uint8_t>(color >> 8),
                         static_cast<std::uint8_t>(color)};
  }
}

BmpLayout bmp_layout(std::string_view bytes) {
  if (bytes.size() < kBmpFileHeader + kLeastBmpHeader) throw bad_image(kBmp, "it is cut off");
  BmpLayout layout;
  const std::size_t header = image_number(bytes, 14, 4);
  if (header < kLeastBmpHeader) throw bad_image(kBmp, "its header is of another kind");
  layout.pixels = image_number(bytes, 10, 4);
  layout.width = static_cast<std::int32_t>(image_number(bytes, 18, 4));
  layout.height = static_cast<std::int32_t>(image_number(bytes, 22, 4));
  layout.top_down = layout.height < 0;
  if (layout.top_down) layout.height = -layout.height;
  layout.bits = image_number(bytes, 28, 2);
  const std::uint32_t packing = image_number(bytes, 30, 4);
  const bool masks = layout.bits == 32 && (packing == kBmpBitfields || packing == kBmpAlphaBitfields);
  const bool known = layout.bits == 1 || layout.bits == 4 || layout.bits == 8 || layout.bits == 24 || layout.bits == 32;
  if (!known || (packing != kBmpPlain && !(masks && has_usual_masks(bytes)))) {
    throw bad_image(kBmp, "its pixels are packed, or have other than 1, 4, 8, 24 or 32 bits");
  }
  check_image_size(kBmp, layout.height, layout.width, bytes.size(), 8);
  layout.row_bytes = (static_cast<std::size_t>(layout.width) * layout.bits + 31) / 32 * 4;
  if (layout.pixels > bytes.size() ||
      (bytes.size() - layout.pixels) / layout.row_bytes < static_cast<std::size_t>(layout.height)) {
    throw bad_image(kBmp, "it is cut off");
  }
  if (layout.bits <= 8) read_palette(bytes, header, layout);
  return layout;
}

void put_bmp_row(const BmpLayout& layout, const std::uint8_t* row, std::int64_t channels, std::uint8_t* target) {
  for (std::int64_t x = 0; x < layout.width; ++x, target += channels) {
    if (layout.bits > 8) {
      const std::uint8_t* pixel = row + x * (layout.bits / 8);
      put_pixel(target, channels, pixel[2], pixel[1], pixel[0], layout.bits == 32 ? pixel[3] : 255);
    } else {
      const auto at = static_cast<std::size_t>(x) * layout.bits;
      const unsigned index = row[at / 8] >> (8 - layout.bits - at % 8) & ((1u << layout.bits) - 1);
      const BmpColor& color = layout.palette[index];
      put_pixel(target, channels, color.red, color.green, color.blue);
    }
  }
}

}  // namespace

void decode_bmp(std::string_view bytes, std::int64_t channels, DecodedImage& image) {
  const BmpLayout layout = bmp_layout(bytes);
  if (channels == 0) channels = layout.bits == 32 ? 4 : layout.is_grey() ? 1 : 3;
  image.renew(layout.height, layout.width, channels);
  for (std::int64_t y = 0; y < layout.height; ++y) {
    const std::int64_t row = layout.top_down ? y : layout.height - 1 - y;
    const std::size_t at = layout.pixels + static_cast<std::size_t>(row) * layout.row_bytes;
    put_bmp_row(layout, reinterpret_cast<const std::uint8_t*>(bytes.data()) + at, channels, image.row(y));
  }
}

}  // namespace cohort::datasets
