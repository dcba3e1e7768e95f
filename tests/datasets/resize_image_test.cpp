#include "cohort/datasets/images/resize_image.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/allocations.h"
#include "tests/support/error_of.h"

namespace cohort::datasets::test {
namespace {

using cohort::test::error_of;
using testing::FloatNear;
using testing::HasSubstr;
using testing::Pointwise;

DecodedImage image_of(std::int64_t height, std::int64_t width, std::int64_t channels,
                      const std::vector<std::uint8_t>& values) {
  DecodedImage image;
  image.renew(height, width, channels);
  std::copy(values.begin(), values.end(), image.row(0));
  return image;
}
std::vector<float> resized(const DecodedImage& image, const ResizeOptions& options) {
  std::vector<float> target(static_cast<std::size_t>(options.height * options.width * image.channels()), -1.0F);
  ImageResizer(options).resize(image, target.data());
  return target;
}

struct InterpolationCase {
  const char* name;
  std::vector<float> expected;
};

// What tf.image.resize gives.
TEST(ResizeImage, EveryInterpolationIsTensorFlows) {
  const InterpolationCase cases[] = {
      {"bilinear", {30.000002F, 27.999992F, 145, 64.999985F, 108.99996F}},
      {"nearest", {0, 20, 40, 50, 70}},
      {"bicubic", {26.358208F, 16.255972F, 158.75F, 60.539375F, 105.61409F}},
      {"area", {37.500004F, 68.750008F, 145, 86.250008F, 118.74999F}},
      {"lanczos3", {31.175791F, 12.000018F, 175.13588F, 67.784523F, 110.64419F}},
      {"lanczos5", {41.308586F, 11.148241F, 194.06586F, 73.414276F, 108.31044F}},
      {"gaussian", {31.002554F, 48.637199F, 145, 72.727028F, 110.30328F}},
      {"MitchellCubic", {29.628349F, 32.715008F, 152.63887F, 67.714432F, 109.38774F}},
  };
  const std::vector<std::uint8_t> values{0, 100, 20, 250, 40, 50, 200, 70};
  for (const InterpolationCase& one : cases) {
    ResizeOptions options{.height = 1, .width = 5, .interpolation = interpolation_of("test", one.name)};
    EXPECT_THAT(resized(image_of(1, 8, 1, values), options), Pointwise(FloatNear(2e-3F), one.expected)) << one.name;
    std::swap(options.height, options.width);
    EXPECT_THAT(resized(image_of(8, 1, 1, values), options), Pointwise(FloatNear(2e-3F), one.expected)) << one.name;
  }
  EXPECT_THAT(error_of([] { interpolation_of("test", "cubic"); }), HasSubstr("interpolation=cubic"));
}

// The middle of pixel 15 falls on the border of a pixel: whether those at either end of the kernel count is a matter of
// rounding, and of a whole percent of their values.
TEST(ResizeImage, AKernelEndsWhereTensorFlowsDoes) {
  std::vector<std::uint8_t> values;
  for (int i = 0; i < 48; ++i) values.push_back(static_cast<std::uint8_t>(i * 37 % 251));
  const ResizeOptions options{.height = 1, .width = 31, .interpolation = Interpolation::Gaussian};
  const std::vector<float> seen = resized(image_of(1, 48, 1, values), options);
  EXPECT_THAT((std::vector(seen.begin() + 13, seen.begin() + 18)),
              Pointwise(FloatNear(2e-3F), {152.23802F, 59.471169F, 117.00372F, 173.52887F, 227.88965F}));
}

// All numbers of channels, and rows that become much shorter, go their own ways through the code.
TEST(ResizeImage, ChannelsAreResizedAlike) {
  const std::vector<std::uint8_t> grey{0, 100, 20, 250, 40, 50, 200, 70, 33, 44, 55, 66};
  for (const std::int64_t width : {1, 2, 7}) {
    const ResizeOptions options{.height = 5, .width = width};
    const std::vector<float> expected = resized(image_of(2, 6, 1, grey), options);
    for (const std::int64_t channels : {2, 3, 4}) {
      std::vector<std::uint8_t> values;
      for (const std::uint8_t value : grey) values.insert(values.end(), static_cast<std::size_t>(channels), value);
      const std::vector<float> all = resized(image_of(2, 6, channels, values), options);
      for (std::size_t i = 0; i < all.size(); ++i) {
        ASSERT_EQ(all[i], expected[i / static_cast<std::size_t>(channels)]) << width << " " << channels << " " << i;
      }
    }
  }
}

TEST(ResizeImage, TheNextImageOfItsSizeAllocatesNothing) {
  if (!cohort::test::allocations_are_counted()) GTEST_SKIP() << "a sanitizer owns the heap";
  const DecodedImage image = image_of(7, 9, 3, std::vector<std::uint8_t>(7 * 9 * 3, 5));
  std::vector<float> target(4 * 12 * 3);
  for (const char* name :
       {"bilinear", "nearest", "bicubic", "area", "lanczos3", "lanczos5", "gaussian", "mitchellcubic"}) {
    ImageResizer resizer({.height = 4, .width = 12, .interpolation = interpolation_of("test", name)});
    resizer.resize(image, target.data());
    const std::uint64_t before = cohort::test::allocations();
    resizer.resize(image, target.data());
    EXPECT_EQ(cohort::test::allocations() - before, 0u) << name;
  }
}

TEST(ResizeImage, OfItsOwnSizeIsTheSame) {
  const std::vector<std::uint8_t> values{0, 100, 20, 250, 40, 50};
  EXPECT_EQ(resized(image_of(2, 3, 1, values), {.height = 2, .width = 3}),
            std::vector<float>(values.begin(), values.end()));
}

TEST(ResizeImage, KeepsTheAspectRatioWhereAsked) {
  const DecodedImage wide = image_of(2, 4, 1, {1, 2, 3, 4, 5, 6, 7, 8});
  EXPECT_EQ(resized(wide, {.height = 2, .width = 2, .aspect_ratio = AspectRatio::Crop}),
            (std::vector<float>{2, 3, 6, 7}));
  EXPECT_EQ(resized(wide, {.height = 5, .width = 4, .aspect_ratio = AspectRatio::Pad}),
            (std::vector<float>{0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 0, 0, 0, 0, 0, 0}));
}

}  // namespace
}  // namespace cohort::datasets::test
