#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <png.h>

#include <cmath>
#include <limits>

#include "cohort/files/png.h"
#include "cohort/files/wav.h"
#include "cohort/summary/event_writer.h"
#include "tests/summary/events_of.h"
#include "tests/support/error_of.h"
#include "tests/support/paths.h"

namespace cohort::summary {
namespace {

std::vector<std::uint8_t> pixels_in(const std::string& file, png_uint_32 format) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  EXPECT_NE(png_image_begin_read_from_memory(&image, file.data(), file.size()), 0);
  EXPECT_EQ(image.format & (PNG_FORMAT_FLAG_COLOR | PNG_FORMAT_FLAG_ALPHA), format);
  image.format = format;
  std::vector<std::uint8_t> pixels(PNG_IMAGE_SIZE(image));
  EXPECT_NE(png_image_finish_read(&image, nullptr, pixels.data(), 0, nullptr), 0);
  return pixels;
}

Summary::Value only_value(EventWriter& writer) {
  writer.close();
  const std::vector<Event> events = events_of(writer.file_name());
  EXPECT_EQ(events.size(), 2u);
  return events.back().summary().value(0);
}

std::vector<std::int64_t> shape_of(const Summary::Value& value) {
  std::vector<std::int64_t> sizes;
  for (const auto& dim : value.tensor().tensor_shape().dim()) sizes.push_back(dim.size());
  return sizes;
}

TEST(Images, OfFloatsAreClippedAndScaledAsTensorFlowDoes) {
  const test::TemporaryFolder folder;
  EventWriter writer(folder.path());
  const float nan = std::numeric_limits<float>::quiet_NaN();
  writer.add_image("i", Tensor::of<float>({-1, 0, 0.25f, 0.5f, 0.999f, 1, 2, nan}, {2, 4}), 3, {.description = "d"});
  const Summary::Value value = only_value(writer);
  EXPECT_EQ(value.metadata().plugin_data().plugin_name(), "images");
  EXPECT_EQ(value.metadata().plugin_data().content(), "");
  EXPECT_EQ(value.metadata().summary_description(), "d");
  EXPECT_EQ(value.tensor().dtype(), 7);
  EXPECT_THAT(shape_of(value), testing::ElementsAre(3));
  EXPECT_EQ(value.tensor().string_val(0), "4");  // width, then height
  EXPECT_EQ(value.tensor().string_val(1), "2");
  EXPECT_THAT(pixels_in(value.tensor().string_val(2), PNG_FORMAT_GRAY),
              testing::ElementsAre(0, 0, 63, 127, 255, 255, 255, 0));
}

TEST(Images, OfBytesKeepTheirChannelsUpToMaxOutputs) {
  const png_uint_32 formats[] = {PNG_FORMAT_GRAY, PNG_FORMAT_GA, PNG_FORMAT_RGB, PNG_FORMAT_RGBA};
  for (std::int64_t channels = 1; channels <= 4; ++channels) {
    const test::TemporaryFolder folder;
    EventWriter writer(folder.path());
    std::vector<std::uint8_t> pixels(static_cast<std::size_t>(5 * 3 * 2 * channels));
    for (std::size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<std::uint8_t>(i * 7);
    writer.add_images("i", Tensor::of(pixels, {5, 3, 2, channels}), 0);
    const Summary::Value value = only_value(writer);
    ASSERT_THAT(shape_of(value), testing::ElementsAre(5));  // width, height and three images
    const auto size = static_cast<std::ptrdiff_t>(3 * 2 * channels);
    EXPECT_EQ(pixels_in(value.tensor().string_val(3), formats[channels - 1]),
              std::vector<std::uint8_t>(pixels.begin() + size, pixels.begin() + 2 * size));
  }
}

TEST(Images, OfOtherShapesAndTypesAreRefused) {
  const test::TemporaryFolder folder;
  EventWriter writer(folder.path());
  const auto refused = [&](const Tensor& images, std::int64_t max_outputs = 3) {
    return test::error_of([&] { writer.add_images("i", images, 0, {.max_outputs = max_outputs}); });
  };
  EXPECT_THAT(refused(Tensor::full({2, 3}, 0)), testing::HasSubstr("Received: images.shape=(2, 3)"));
  EXPECT_THAT(refused(Tensor::full({1, 2, 2, 5}, 0)), testing::HasSubstr("channels 1 to 4"));
  EXPECT_THAT(refused(Tensor::full({1, 0, 2, 1}, 0)), testing::HasSubstr("images.shape"));
  EXPECT_THAT(refused(Tensor::full({1, 2, 2, 1}, 0, int32)), testing::HasSubstr("images.dtype=int32"));
  EXPECT_THAT(refused(Tensor::full({1, 2, 2, 1}, 0), -1), testing::HasSubstr("max_outputs=-1"));
  EXPECT_THAT(test::error_of([&] { writer.add_image("i", Tensor::full({4}, 0), 0); }),
              testing::HasSubstr("image.shape=(4,)"));
  writer.close();
  EXPECT_EQ(events_of(writer.file_name()).size(), 1u);
}

TEST(Audio, IsSixteenBitSoundAsTensorFlowWritesIt) {
  const test::TemporaryFolder folder;
  EventWriter writer(folder.path());
  writer.add_audio("a", Tensor::of<float>({-1.5f, -1, -0.5f, 0, 0.25f, 0.9999f, 1, 1.5f}, {8}), 8000, 3);
  const Summary::Value value = only_value(writer);
  EXPECT_EQ(value.metadata().plugin_data().plugin_name(), "audio");
  EXPECT_EQ(value.metadata().plugin_data().content(), "\x10\x0b");
  EXPECT_THAT(shape_of(value), testing::ElementsAre(1, 2));
  const char* expected =
      "524946463400000057415645666d74201000000001000100401f0000803e0000020010006461746110000000"
      "0080008000c000000020fd7fff7fff7f";
  std::string seen;
  for (const unsigned char byte : value.tensor().string_val(0)) {
    seen += {"0123456789abcdef"[byte >> 4], "0123456789abcdef"[byte & 15]};
  }
  EXPECT_EQ(seen, expected);
  EXPECT_EQ(value.tensor().string_val(1), "");
}

TEST(Audio, TakesClipsOfSeveralChannels) {
  const test::TemporaryFolder folder;
  EventWriter writer(folder.path());
  writer.add_audio("a", Tensor::full({4, 10, 2}, 0.5), 44100, 0, {.max_outputs = 2});
  const Summary::Value value = only_value(writer);
  EXPECT_THAT(shape_of(value), testing::ElementsAre(2, 2));
  EXPECT_EQ(value.tensor().string_val(2).size(), 44u + 10 * 2 * 2);
  EXPECT_EQ(value.tensor().string_val(2)[22], 2);  // channels
}

TEST(Audio, OfOtherShapesTypesAndRatesIsRefused) {
  const test::TemporaryFolder folder;
  EventWriter writer(folder.path());
  EXPECT_THROW(writer.add_audio("a", Tensor::full({}, 0), 8000, 0), Error);
  EXPECT_THROW(writer.add_audio("a", Tensor::full({1, 2, 3, 4}, 0), 8000, 0), Error);
  EXPECT_THROW(writer.add_audio("a", Tensor::full({4}, 0, int32), 8000, 0), Error);
  EXPECT_THROW(writer.add_audio("a", Tensor::full({4}, 0), 0, 0), Error);
  EXPECT_THROW(encode_wav(std::vector<float>(3), 2, 8000), Error);
  EXPECT_THROW(encode_png(std::vector<std::uint8_t>(3), 2, 2, 1), Error);
}

}  // namespace
}  // namespace cohort::summary
