#include "cohort/datasets/images/decode_image.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "tests/datasets/image_bytes.h"
#include "tests/support/error_of.h"

namespace cohort::datasets::test {
namespace {

using cohort::test::error_of;
using testing::HasSubstr;
using Pixel = std::vector<int>;

Pixel pixel_at(const Tensor& image, std::int64_t y, std::int64_t x) {
  const auto values = image.to_vector<int>();
  const std::int64_t channels = image.shape()[2], at = (y * image.shape()[1] + x) * channels;
  return {values.begin() + at, values.begin() + at + channels};
}
std::int64_t sum_of(const Tensor& image) {
  const auto values = image.to_vector<std::int64_t>();
  return std::accumulate(values.begin(), values.end(), std::int64_t{0});
}
std::string decoding_error(const std::string& bytes, std::int64_t channels = 0) {
  return error_of([&] { decode_image(bytes, {.channels = channels}); });
}

// What TensorFlow 2.21 and Pillow 13 give for the same files.
TEST(DecodeImage, ReadsJpegAsTensorFlowDoes) {
  const Tensor color = decode_image(small_jpeg());
  EXPECT_EQ(color.shape(), (Shape{9, 13, 3}));
  EXPECT_EQ(sum_of(color), 44767);
  EXPECT_EQ(pixel_at(color, 0, 0), (Pixel{0, 5, 219}));
  EXPECT_EQ(pixel_at(color, 4, 6), (Pixel{120, 109, 152}));
  EXPECT_EQ(pixel_at(color, 8, 12), (Pixel{237, 223, 75}));
  const Tensor grey = decode_image(small_jpeg(), {.channels = 1});
  EXPECT_EQ(sum_of(grey), 13842);
  EXPECT_EQ(pixel_at(grey, 8, 12), Pixel{210});
  EXPECT_EQ(pixel_at(decode_image(small_jpeg(), {.channels = 4}), 4, 6), (Pixel{120, 109, 152, 255}));
  EXPECT_EQ(sum_of(decode_image(small_jpeg(), {.accurate = true})), 45068);
}

TEST(DecodeImage, ReadsJpegAtAPartOfItsSize) {
  const auto shape = [](std::int64_t height, std::int64_t width) {
    return decode_image(small_jpeg(), {.least_height = height, .least_width = width}).shape();
  };
  EXPECT_EQ(shape(5, 7), (Shape{5, 7, 3}));
  EXPECT_EQ(shape(6, 7), (Shape{9, 13, 3}));
  EXPECT_EQ(shape(3, 4), (Shape{3, 4, 3}));
  EXPECT_EQ(shape(1, 1), (Shape{2, 2, 3}));
  EXPECT_EQ(shape(0, 1), (Shape{9, 13, 3}));
}

TEST(DecodeImage, ReadsGifAsTensorFlowDoes) {
  const Tensor color = decode_image(small_gif());
  EXPECT_EQ(color.shape(), (Shape{9, 13, 3}));
  EXPECT_EQ(sum_of(color), 45063);
  EXPECT_EQ(pixel_at(color, 0, 0), (Pixel{50, 0, 230}));
  EXPECT_EQ(pixel_at(color, 4, 6), (Pixel{180, 126, 120}));
  EXPECT_EQ(pixel_at(color, 8, 12), (Pixel{180, 196, 95}));
  EXPECT_EQ(pixel_at(decode_image(small_gif(), {.channels = 4}), 0, 0), (Pixel{50, 0, 230, 255}));
}

TEST(DecodeImage, ReadsPng) {
  const std::vector<std::uint8_t> values{161, 243, 222, 100, 145, 221, 235, 166};
  const std::string file = encode_png(values, 1, 2, 4);
  EXPECT_EQ(pixel_at(decode_image(file), 0, 0), (Pixel{161, 243, 222, 100}));
  EXPECT_EQ(pixel_at(decode_image(file, {.channels = 3}), 0, 1), (Pixel{145, 221, 235}));
  EXPECT_EQ(pixel_at(decode_image(file, {.channels = 1}), 0, 0), Pixel{220});  // by the gamma that encode_png says
  EXPECT_EQ(pixel_at(decode_image(file, {.channels = 1}), 0, 1), Pixel{204});
  EXPECT_EQ(pixel_at(decode_image(encode_png(std::vector<std::uint8_t>{7, 9}, 1, 1, 2)), 0, 0), (Pixel{7, 9}));
  EXPECT_EQ(pixel_at(decode_image(plain_png(1, 1, 7, 1), {.channels = 4}), 0, 0), (Pixel{7, 7, 7, 255}));
}

TEST(DecodeImage, ReadsBmpInEitherDirection) {
  std::string file = small_bmp();
  const Tensor up = decode_image(file);
  EXPECT_EQ(up.shape(), (Shape{2, 3, 3}));
  EXPECT_EQ(pixel_at(up, 0, 0), (Pixel{0, 1, 2}));
  EXPECT_EQ(pixel_at(up, 1, 2), (Pixel{50, 51, 52}));
  file.replace(22, 4, from_hex("feffffff"));
  EXPECT_EQ(pixel_at(decode_image(file), 0, 2), (Pixel{50, 51, 52}));
}

TEST(DecodeImage, FilesThatAreCutOffAreErrors) {
  for (const std::string& file : {small_jpeg(), small_gif(), plain_png(5, 5, 3), small_bmp()}) {
    // The end of a GIF is not needed for its first frame.
    const std::size_t needed = file.starts_with("GIF") ? file.size() - 3 : file.size();
    for (std::size_t length = 0; length < needed; ++length) {
      EXPECT_THAT(decoding_error(file.substr(0, length)), HasSubstr("DataLoss")) << file.substr(0, 4) << length;
    }
    EXPECT_EQ(decoding_error(file), "");
  }
  EXPECT_EQ(decode_image(small_jpeg().substr(0, 300), {.try_recover_truncated = true}).shape(), (Shape{9, 13, 3}));
}

TEST(DecodeImage, HeadersAreNotBelieved) {
  std::string jpeg = small_jpeg();
  const std::size_t size = jpeg.find("\xff\xc0") + 5;
  jpeg.replace(size, 4, from_hex("ffdcffdc"));
  EXPECT_THAT(decoding_error(jpeg), HasSubstr("at most 2^28 pixels"));
  jpeg.replace(size, 4, from_hex("3fff3fff"));
  EXPECT_THAT(decoding_error(jpeg), HasSubstr("too short for its size"));
  std::string gif = small_gif();
  gif.replace(gif.find(from_hex("2c00000000")) + 5, 4, from_hex("ffffffff"));
  EXPECT_THAT(decoding_error(gif), HasSubstr("at most 2^28 pixels"));
  std::string bmp = small_bmp();
  bmp.replace(18, 8, from_hex("ffffff7fffffff7f"));
  EXPECT_THAT(decoding_error(bmp), HasSubstr("at most 2^28 pixels"));
  bmp.replace(18, 8, from_hex("0000008000000080"));
  EXPECT_THAT(decoding_error(bmp), HasSubstr("it has no pixels"));
  EXPECT_THAT(decoding_error("neither of them"), HasSubstr("a JPEG, PNG, BMP or GIF file"));
  EXPECT_THAT(decoding_error(small_bmp(), 2), HasSubstr("0, 1, 3 or 4 channels"));
}

// Whatever is changed, the answer is an image or an error.
TEST(DecodeImage, DamagedFilesAreReadOrRefused) {
  for (const std::string& file : {small_jpeg(), small_gif(), plain_png(5, 5, 3), small_bmp()}) {
    std::size_t refused = 0;
    for (std::size_t i = 0; i < file.size(); ++i) {
      for (const int change : {1, 0x80, 0xff}) {
        std::string damaged = file;
        damaged[i] = static_cast<char>(damaged[i] ^ change);
        if (!decoding_error(damaged, 3).empty()) ++refused;
      }
    }
    EXPECT_GT(refused, 10u) << file.substr(0, 4);
  }
}

}  // namespace
}  // namespace cohort::datasets::test
