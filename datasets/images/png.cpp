#include <png.h>

#include <csetjmp>
#include <cstdio>
#include <cstring>

#include "cohort/datasets/images/image_formats.h"

namespace cohort::datasets {
namespace {

constexpr const char* kPng = "PNG";
// Deflate packs 1032 bytes into one at most; a byte is 8 pixels at most.
constexpr std::int64_t kPngPixelsOfByte = 1032 * 8;

// What longjmp jumps past: nothing in here has a destructor.
struct PngDecoder {
  png_structp png = nullptr;
  png_infop info = nullptr;
  std::string_view rest;
  char text[128] = "it cannot be read";
};

void note_png_error(png_structp png, png_const_charp message) {
  auto* decoder = static_cast<PngDecoder*>(png_get_error_ptr(png));
  std::snprintf(decoder->text, sizeof decoder->text, "%s", message);
  png_longjmp(png, 1);
}
void ignore_png_warning(png_structp, png_const_charp) {}
void read_png(png_structp png, png_bytep target, png_size_t bytes) {
  auto* decoder = static_cast<PngDecoder*>(png_get_io_ptr(png));
  if (decoder->rest.size() < bytes) png_error(png, "it is cut off");
  std::memcpy(target, decoder->rest.data(), bytes);
  decoder->rest.remove_prefix(bytes);
}

bool read_png_header(PngDecoder& decoder) {
  if (setjmp(png_jmpbuf(decoder.png))) return false;
  png_set_user_limits(decoder.png, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
  png_set_read_fn(decoder.png, &decoder, read_png);
  png_read_info(decoder.png, decoder.info);
  return true;
}

std::int64_t channels_of(const PngDecoder& decoder) {
  const bool transparent = png_get_valid(decoder.png, decoder.info, PNG_INFO_tRNS) != 0;
  if (png_get_color_type(decoder.png, decoder.info) == PNG_COLOR_TYPE_PALETTE) return transparent ? 4 : 3;
  return png_get_channels(decoder.png, decoder.info);
}

// As TensorFlow asks libpng for them, but with an alpha of 255 for what is opaque, whatever its depth.
void choose_png_output(PngDecoder& decoder, std::int64_t channels) {
  png_structp png = decoder.png;
  const int color = png_get_color_type(png, decoder.info);
  const int depth = png_get_bit_depth(png, decoder.info);
  const bool transparent = png_get_valid(png, decoder.info, PNG_INFO_tRNS) != 0;
  const bool has_alpha = (color & PNG_COLOR_MASK_ALPHA) != 0, has_color = (color & PNG_COLOR_MASK_COLOR) != 0;
  if (depth == 16) png_set_strip_16(png);
  png_set_packing(png);
  if (color == PNG_COLOR_TYPE_PALETTE) png_set_palette_to_rgb(png);
  if (!has_color && depth < 8) png_set_expand_gray_1_2_4_to_8(png);
  if (channels % 2 == 0) {
    if (transparent) png_set_tRNS_to_alpha(png);
    if (!has_alpha && !transparent) png_set_add_alpha(png, 0xff, PNG_FILLER_AFTER);
  } else if (has_alpha || transparent) {
    png_set_strip_alpha(png);
  }
  if (channels < 3 && has_color) png_set_rgb_to_gray(png, PNG_ERROR_ACTION_NONE, 0.299, 0.587);
  if (channels > 2 && !has_color) png_set_gray_to_rgb(png);
}

bool prepare_png(PngDecoder& decoder, std::int64_t channels, int& passes) {
  if (setjmp(png_jmpbuf(decoder.png))) return false;
  choose_png_output(decoder, channels);
  passes = png_set_interlace_handling(decoder.png);
  png_read_update_info(decoder.png, decoder.info);
  const auto row = static_cast<std::int64_t>(png_get_rowbytes(decoder.png, decoder.info));
  if (row != static_cast<std::int64_t>(png_get_image_width(decoder.png, decoder.info)) * channels) {
    png_error(decoder.png, "its pixels have an unexpected size");
  }
  return true;
}

bool read_png_rows(PngDecoder& decoder, int passes, DecodedImage& image) {
  if (setjmp(png_jmpbuf(decoder.png))) return false;
  for (int pass = 0; pass < passes; ++pass) {
    for (std::int64_t y = 0; y < image.height(); ++y) png_read_row(decoder.png, image.row(y), nullptr);
  }
  png_read_end(decoder.png, nullptr);
  return true;
}

}  // namespace

void decode_png(std::string_view bytes, std::int64_t channels, DecodedImage& image) {
  PngDecoder decoder;
  decoder.rest = bytes;
  struct End {
    PngDecoder& decoder;
    ~End() { png_destroy_read_struct(&decoder.png, &decoder.info, nullptr); }
  } end{decoder};
  decoder.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &decoder, note_png_error, ignore_png_warning);
  if (decoder.png) decoder.info = png_create_info_struct(decoder.png);
  if (!decoder.info || !read_png_header(decoder)) throw bad_image(kPng, decoder.text);
  const std::int64_t height = png_get_image_height(decoder.png, decoder.info);
  const std::int64_t width = png_get_image_width(decoder.png, decoder.info);
  check_image_size(kPng, height, width, bytes.size(), kPngPixelsOfByte);
  if (channels == 0) channels = channels_of(decoder);
  int passes = 1;
  if (!prepare_png(decoder, channels, passes)) throw bad_image(kPng, decoder.text);
  image.renew(height, width, channels);
  if (!read_png_rows(decoder, passes, image)) throw bad_image(kPng, decoder.text);
}

}  // namespace cohort::datasets
