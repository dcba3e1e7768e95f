#include <array>
#include <cstring>

#include "cohort/datasets/images/image_formats.h"

namespace cohort::datasets {
namespace {

constexpr const char* kGif = "GIF";
// The longest string of a code is 4096 pixels, at 12 bits.
constexpr std::int64_t kGifPixelsOfByte = 4096;
constexpr std::size_t kScreenBytes = 13, kFrameBytes = 9;
constexpr char kExtension = 0x21, kFrame = 0x2c;
constexpr std::uint8_t kGraphicControl = 0xf9;

// Walks through the blocks of a file.
class GifReader {
 public:
  explicit GifReader(std::string_view bytes) : rest_(bytes) {}

  std::string_view take(std::size_t count) {
    if (rest_.size() < count) throw bad_image(kGif, "it is cut off");
    const std::string_view taken = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return taken;
  }
  std::uint8_t byte() { return static_cast<std::uint8_t>(take(1)[0]); }
  // The next part of a block of any length; empty at its end.
  std::string_view part() { return take(byte()); }

 private:
  std::string_view rest_;
};

// The codes in the parts of a block.
class GifCodes {
 public:
  explicit GifCodes(GifReader& reader) : reader_(reader) {}

  unsigned next(unsigned bits) {
    while (held_ < bits) {
      if (part_.empty()) {
        part_ = reader_.part();
        if (part_.empty()) throw bad_image(kGif, "its pixels end too early");
      }
      window_ |= std::uint32_t{static_cast<std::uint8_t>(part_[0])} << held_;
      held_ += 8;
      part_.remove_prefix(1);
    }
    const unsigned code = window_ & ((1u << bits) - 1);
    window_ >>= bits;
    held_ -= bits;
    return code;
  }

 private:
  GifReader& reader_;
  std::string_view part_;
  std::uint32_t window_ = 0;
  unsigned held_ = 0;
};

// LZW: each code stands for a string of pixels.
class GifPixels {
 public:
  explicit GifPixels(GifReader& reader) : first_bits_(reader.byte()), codes_(reader) {
    if (first_bits_ < 1 || first_bits_ > 8) throw bad_image(kGif, "its codes have an unexpected size");
    clear();
  }

  std::uint8_t next() {
    while (depth_ == 0) expand(codes_.next(bits_));
    return stack_[--depth_];
  }

 private:
  static constexpr unsigned kCodes = 4096, kNone = kCodes;

  unsigned clear_code() const { return 1u << first_bits_; }
  void clear() {
    bits_ = first_bits_ + 1;
    known_ = clear_code() + 2;
    last_ = kNone;
  }
  // Puts the string of a code onto the stack, its first pixel on top.
  void expand(unsigned code) {
    if (code == clear_code()) return clear();
    if (code == clear_code() + 1) throw bad_image(kGif, "its pixels end too early");
    // The only code that can be used before it is known ends with the pixel that it begins with.
    const bool is_next = code == known_ && last_ != kNone && known_ < kCodes;
    if (code >= known_ && !is_next) throw bad_image(kGif, "it has an unknown code");
    if (is_next) stack_[depth_++] = first_;
    unsigned at = is_next ? last_ : code;
    while (at > clear_code()) {
      stack_[depth_++] = pixel_[at];
      at = before_[at];
    }
    first_ = static_cast<std::uint8_t>(at);
    stack_[depth_++] = first_;
    if (last_ != kNone && known_ < kCodes) {
      pixel_[known_] = first_;
      before_[known_] = static_cast<std::uint16_t>(last_);
      if (++known_ == 1u << bits_ && bits_ < 12) ++bits_;
    }
    last_ = code;
  }

  unsigned first_bits_;
  GifCodes codes_;
  unsigned bits_ = 0, known_ = 0, last_ = kNone;
  std::uint8_t first_ = 0;
  std::array<std::uint8_t, kCodes> pixel_;
  std::array<std::uint16_t, kCodes> before_;
  std::array<std::uint8_t, kCodes + 1> stack_;
  std::size_t depth_ = 0;
};

std::string_view color_table(GifReader& reader, std::uint8_t flags) {
  return flags & 0x80 ? reader.take(std::size_t{3} << ((flags & 7) + 1)) : std::string_view();
}

// Goes past an extension; the transparent color where it names one.
void read_extension(GifReader& reader, int& transparent) {
  const std::uint8_t kind = reader.byte();
  for (std::string_view part = reader.part(); !part.empty(); part = reader.part()) {
    if (kind == kGraphicControl && part.size() == 4) {
      transparent = part[0] & 1 ? static_cast<std::uint8_t>(part[3]) : -1;
    }
  }
}

// The rows of an interlaced image come in four turns.
std::int64_t gif_row(std::int64_t number, std::int64_t height, bool interlaced) {
  if (!interlaced) return number;
  constexpr std::array<std::int64_t, 4> kFirst{0, 4, 2, 1}, kStep{8, 8, 4, 2};
  for (std::size_t turn = 0; turn < 4; ++turn) {
    const std::int64_t rows = (height - kFirst[turn] + kStep[turn] - 1) / kStep[turn];
    if (number < rows) return kFirst[turn] + number * kStep[turn];
    number -= rows;
  }
  return height - 1;
}

}  // namespace

void decode_gif(std::string_view bytes, std::int64_t channels, DecodedImage& image) {
  GifReader reader(bytes);
  const std::string_view screen = reader.take(kScreenBytes);
  const std::string_view shared_colors = color_table(reader, static_cast<std::uint8_t>(screen[10]));
  int transparent = -1;
  char block = reader.take(1)[0];
  for (; block == kExtension; block = reader.take(1)[0]) read_extension(reader, transparent);
  if (block != kFrame) throw bad_image(kGif, "it has no frame");
  const std::string_view frame = reader.take(kFrameBytes);
  const std::int64_t left = image_number(frame, 0, 2), top = image_number(frame, 2, 2);
  const std::int64_t width = image_number(frame, 4, 2), height = image_number(frame, 6, 2);
  const auto flags = static_cast<std::uint8_t>(frame[8]);
  const std::string_view own_colors = color_table(reader, flags);
  const std::string_view colors = own_colors.empty() ? shared_colors : own_colors;
  if (colors.empty()) throw bad_image(kGif, "it has no colors");
  check_image_size(kGif, height, width, bytes.size(), kGifPixelsOfByte);
  if (channels == 0) channels = 3;
  // As TensorFlow does: the first frame's size is the image's, and what it does not cover is black.
  image.renew(height, width, channels);
  std::memset(image.row(0), 0, image.bytes());
  GifPixels pixels(reader);
  for (std::int64_t number = 0; number < height; ++number) {
    const std::int64_t y = gif_row(number, height, (flags & 0x40) != 0) + top;
    for (std::int64_t x = left; x < left + width; ++x) {
      const std::size_t color = pixels.next();
      if (color == static_cast<std::size_t>(transparent)) continue;
      if (3 * color + 3 > colors.size()) throw bad_image(kGif, "it has a pixel without a color");
      if (x >= width || y >= height) continue;
      const auto* entry = reinterpret_cast<const std::uint8_t*>(colors.data()) + 3 * color;
      put_pixel(image.row(y) + x * channels, channels, entry[0], entry[1], entry[2]);
    }
  }
}

}  // namespace cohort::datasets
