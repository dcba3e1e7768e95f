#include <algorithm>
#include <csetjmp>
#include <cstdio>
#include <memory>
#include <string>

#include <jpeglib.h>

#include "cohort/datasets/images/image_formats.h"

namespace cohort::datasets {
namespace {

constexpr const char* kJpeg = "JPEG";
// Every 8 x 8 block takes a bit at least; some samplings have half as many.
constexpr std::int64_t kJpegPixelsOfByte = 1024;
// A progressive file can ask for any number of passes over the whole image.
constexpr int kMostScans = 500;

// More than these libjpeg does not give at once.
constexpr std::int64_t kRowsAtATime = 4;

struct JpegErrors {
  jpeg_error_mgr manager;
  std::jmp_buf out;
  char text[JMSG_LENGTH_MAX];
};

[[noreturn]] void leave_jpeg(j_common_ptr info) {
  auto* errors = reinterpret_cast<JpegErrors*>(info->err);
  errors->manager.format_message(info, errors->text);
  std::longjmp(errors->out, 1);
}
void ignore_jpeg_message(j_common_ptr, int) {}

[[noreturn]] void leave_jpeg(j_decompress_ptr info, const char* problem) {
  auto* errors = reinterpret_cast<JpegErrors*>(info->err);
  std::snprintf(errors->text, sizeof errors->text, "%s", problem);
  std::longjmp(errors->out, 1);
}

struct JpegSource {
  jpeg_source_mgr manager;
  bool recovers;
};

void begin_jpeg(j_decompress_ptr) {}
::boolean fill_jpeg(j_decompress_ptr info) {
  auto* source = reinterpret_cast<JpegSource*>(info->src);
  if (!source->recovers) return FALSE;
  // What is missing is taken for the end of the image.
  static const JOCTET kEnd[] = {0xff, JPEG_EOI};
  source->manager.next_input_byte = kEnd;
  source->manager.bytes_in_buffer = sizeof kEnd;
  return TRUE;
}
void skip_jpeg(j_decompress_ptr info, long count) {
  if (count <= 0) return;
  jpeg_source_mgr& source = *info->src;
  if (static_cast<std::size_t>(count) > source.bytes_in_buffer) leave_jpeg(info, "it is cut off");
  source.next_input_byte += count;
  source.bytes_in_buffer -= static_cast<std::size_t>(count);
}
void limit_scans(j_common_ptr info) {
  auto* decoder = reinterpret_cast<j_decompress_ptr>(info);
  if (info->is_decompressor && decoder->input_scan_number > kMostScans) leave_jpeg(decoder, "it has too many scans");
}

// What longjmp jumps past: nothing in here has a destructor.
struct JpegDecoder {
  jpeg_decompress_struct info;
  JpegErrors errors;
  JpegSource source;
  jpeg_progress_mgr progress;
};

void prepare(JpegDecoder& decoder, std::string_view bytes, bool recovers) {
  decoder.info.err = jpeg_std_error(&decoder.errors.manager);
  decoder.errors.manager.error_exit = leave_jpeg;
  decoder.errors.manager.emit_message = ignore_jpeg_message;
  decoder.source = {};
  decoder.source.recovers = recovers;
  jpeg_source_mgr& source = decoder.source.manager;
  source.next_input_byte = reinterpret_cast<const JOCTET*>(bytes.data());
  source.bytes_in_buffer = bytes.size();
  source.init_source = begin_jpeg;
  source.fill_input_buffer = fill_jpeg;
  source.skip_input_data = skip_jpeg;
  source.resync_to_restart = jpeg_resync_to_restart;
  source.term_source = begin_jpeg;
  decoder.progress = {};
  decoder.progress.progress_monitor = limit_scans;
}

// The most that the size can be divided by.
unsigned divisor_of(const jpeg_decompress_struct& info, const DecodeImageOptions& options) {
  if (options.least_height < 1 || options.least_width < 1) return 1;
  unsigned divisor = 1;
  const auto fits = [](JDIMENSION size, unsigned by, std::int64_t least) {
    return (static_cast<std::int64_t>(size) + by - 1) / by >= least;
  };
  while (divisor < 8 && fits(info.image_height, 2 * divisor, options.least_height) &&
         fits(info.image_width, 2 * divisor, options.least_width)) {
    divisor *= 2;
  }
  return divisor;
}

bool is_cmyk(const jpeg_decompress_struct& info) {
  return info.jpeg_color_space == JCS_CMYK || info.jpeg_color_space == JCS_YCCK;
}

void choose_output(jpeg_decompress_struct& info, const DecodeImageOptions& options, std::int64_t channels) {
  if (is_cmyk(info)) {
    info.out_color_space = JCS_CMYK;
  } else if (channels == 1) {
    info.out_color_space = JCS_GRAYSCALE;
  } else {
    info.out_color_space = channels == 4 ? JCS_EXT_RGBA : JCS_RGB;
  }
  info.scale_num = 1;
  info.scale_denom = divisor_of(info, options);
  info.dct_method = options.accurate ? JDCT_ISLOW : JDCT_IFAST;
  info.do_fancy_upsampling = TRUE;
}

// Adobe's programs write the complements.
void put_cmyk_row(const std::uint8_t* row, bool complements, std::int64_t width, std::int64_t channels,
                  std::uint8_t* target) {
  for (std::int64_t x = 0; x < width; ++x, row += 4, target += channels) {
    const int flip = complements ? 0 : 255;
    const int black = row[3] ^ flip;
    put_pixel(target, channels, black * (row[0] ^ flip) / 255, black * (row[1] ^ flip) / 255,
              black * (row[2] ^ flip) / 255);
  }
}

// False when it jumped out; decoder.errors.text then says why.
bool read_jpeg_header(JpegDecoder& decoder) {
  if (setjmp(decoder.errors.out)) return false;
  jpeg_create_decompress(&decoder.info);
  decoder.info.src = &decoder.source.manager;
  decoder.info.progress = &decoder.progress;
  if (jpeg_read_header(&decoder.info, TRUE) != JPEG_HEADER_OK) leave_jpeg(&decoder.info, "it is cut off");
  return true;
}

bool size_jpeg(JpegDecoder& decoder, const DecodeImageOptions& options, std::int64_t channels) {
  if (setjmp(decoder.errors.out)) return false;
  choose_output(decoder.info, options, channels);
  jpeg_calc_output_dimensions(&decoder.info);
  return true;
}

bool read_jpeg_rows(JpegDecoder& decoder, DecodedImage& image, std::uint8_t* cmyk) {
  if (setjmp(decoder.errors.out)) return false;
  jpeg_decompress_struct& info = decoder.info;
  if (!jpeg_start_decompress(&info)) leave_jpeg(&info, "it is cut off");
  while (info.output_scanline < info.output_height) {
    const auto y = static_cast<std::int64_t>(info.output_scanline);
    JSAMPROW rows[kRowsAtATime];
    const auto count = cmyk ? 1 : static_cast<JDIMENSION>(std::min(kRowsAtATime, image.height() - y));
    for (JDIMENSION i = 0; i < count; ++i) rows[i] = cmyk ? cmyk : image.row(y + i);
    if (jpeg_read_scanlines(&info, rows, count) < 1) leave_jpeg(&info, "it is cut off");
    if (cmyk) put_cmyk_row(cmyk, info.saw_Adobe_marker, image.width(), image.channels(), image.row(y));
  }
  if (!jpeg_finish_decompress(&info)) leave_jpeg(&info, "it is cut off");
  return true;
}

}  // namespace

void decode_jpeg(std::string_view bytes, const DecodeImageOptions& options, DecodedImage& image) {
  JpegDecoder decoder;
  decoder.info = {};
  prepare(decoder, bytes, options.try_recover_truncated);
  struct End {
    JpegDecoder& decoder;
    ~End() { jpeg_destroy_decompress(&decoder.info); }
  } end{decoder};
  if (!read_jpeg_header(decoder)) throw bad_image(kJpeg, decoder.errors.text);
  check_image_size(kJpeg, decoder.info.image_height, decoder.info.image_width, bytes.size(), kJpegPixelsOfByte);
  std::int64_t channels = options.channels;
  if (channels == 0) channels = decoder.info.num_components == 1 ? 1 : 3;
  if (!size_jpeg(decoder, options, channels)) throw bad_image(kJpeg, decoder.errors.text);
  image.renew(decoder.info.output_height, decoder.info.output_width, channels);
  std::unique_ptr<std::uint8_t[]> cmyk;
  if (is_cmyk(decoder.info)) cmyk = std::make_unique_for_overwrite<std::uint8_t[]>(4 * decoder.info.output_width);
  if (!read_jpeg_rows(decoder, image, cmyk.get())) throw bad_image(kJpeg, decoder.errors.text);
}

}  // namespace cohort::datasets
