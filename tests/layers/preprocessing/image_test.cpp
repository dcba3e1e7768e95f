#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "cohort/graph/function.h"
#include "cohort/layers/preprocessing/center_crop.h"
#include "cohort/layers/preprocessing/random_color.h"
#include "cohort/layers/preprocessing/random_crop.h"
#include "cohort/layers/preprocessing/random_flip.h"
#include "cohort/layers/preprocessing/random_rotation.h"
#include "cohort/layers/preprocessing/random_translation.h"
#include "cohort/layers/preprocessing/random_zoom.h"
#include "cohort/layers/preprocessing/resizing.h"
#include "cohort/saving/config_json.h"
#include "tests/layers/counting.h"
#include "tests/support/op_check.h"

namespace cohort::layers {
namespace {

const CallOptions kTraining = {.training = true};

TEST(Resizing, KeepsTheTypeOfImages) {
  const Tensor bytes = Tensor::of<std::uint8_t>({0, 101, 200, 255}, {1, 1, 4, 1});
  test::expect_tensor(Resizing(1, 2)(bytes), uint8, {1, 1, 2, 1}, {50, 228});
  EXPECT_EQ(Resizing(3, 5)(counting({4, 4, 2})).shape(), Shape({3, 5, 2}));
  EXPECT_EQ(Resizing(3, 5, {.data_format = "channels_first"})(counting({1, 2, 4, 4})).shape(), Shape({1, 2, 3, 5}));
}

TEST(CenterCrop, TakesTheMiddleOrEnlarges) {
  test::expect_values(CenterCrop(1, 2)(counting({1, 3, 4, 1})), {5, 6}, 0);
  EXPECT_EQ(CenterCrop(6, 6)(counting({1, 3, 4, 1})).shape(), Shape({1, 6, 6, 1}));
}

TEST(RandomFlip, MirrorsSomeImages) {
  const RandomFlip flip("horizontal", {.seed = 1});
  const Tensor pairs = counting({64, 1, 2, 1});
  const std::vector<float> y = flip(pairs, kTraining).to_vector<float>();
  int flipped = 0;
  for (std::size_t i = 0; i < 64; ++i) {
    EXPECT_EQ(y[2 * i] + y[2 * i + 1], static_cast<float>(4 * i + 1));
    flipped += y[2 * i] > y[2 * i + 1];
  }
  EXPECT_NEAR(flipped, 32, 16);
  test::expect_values(flip(pairs), pairs.to_vector<double>(), 0);
}

TEST(RandomCrop, TakesAPlaceOfTheWholeBatch) {
  const RandomCrop crop(2, 2, {.seed = 1});
  std::set<float> places;
  for (int i = 0; i < 20; ++i) {
    const std::vector<float> y = crop(counting({2, 4, 5, 1}), kTraining).to_vector<float>();
    const float first = y[0];
    EXPECT_EQ(y, (std::vector<float>{first, first + 1, first + 5, first + 6, first + 20, first + 21, first + 25,
                                     first + 26}));
    places.insert(first);
  }
  EXPECT_GT(places.size(), 4u);
}

TEST(RandomAffine, ExactFactorsMoveExactly) {
  const Tensor image = counting({1, 2, 2, 1});
  test::expect_values(RandomRotation({0.25, 0.25})(image, kTraining), {1, 3, 0, 2}, 1e-4);
  test::expect_values(RandomTranslation({0.5, 0.5}, 0.0, {.fill_mode = "constant", .fill_value = 9})(image, kTraining),
                      {9, 9, 0, 1}, 1e-5);
  test::expect_values(RandomZoom(0.0)(image, kTraining), {0, 1, 2, 3}, 1e-5);
  test::expect_values(RandomRotation(0.5)(image), {0, 1, 2, 3}, 0);
}

TEST(RandomAffine, ImagesAreMovedApart) {
  const RandomRotation rotation(0.5, {.seed = 2});
  const Function traced = function([&](const Tensor& x) { return rotation(x, kTraining); },
                                   {.input_signature = {{float32, {kUnknown, 3, 4, 1}}}});
  const std::vector<float> y =
      Tensor(traced(Tensor::of(std::vector<float>(24, 0.0f), {2, 3, 4, 1}))).to_vector<float>();
  EXPECT_EQ(y, std::vector<float>(24, 0.0f));
  const Tensor twice =
      Tensor::of<float>({0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, {2, 3, 4, 1});
  const std::vector<float> z = Tensor(traced(twice)).to_vector<float>();
  EXPECT_FALSE(std::equal(z.begin(), z.begin() + 12, z.begin() + 12));
}

TEST(RandomColor, StaysInTheRange) {
  const Tensor image = Tensor::of<float>({0.1f, 0.5f, 0.9f, 0.5f}, {1, 2, 2, 1});
  test::expect_values(RandomBrightness({0.3, 0.3}, {.value_range = {0, 1}})(image, kTraining), {0.4, 0.8, 1, 0.8},
                      1e-6);
  test::expect_values(RandomContrast({0.0, 1.0}, {.value_range = {0.5, 0.5}})(image, kTraining), {0.5, 0.5, 0.5, 0.5},
                      1e-6);
  test::expect_values(RandomBrightness(1.0)(image), {0.1, 0.5, 0.9, 0.5}, 1e-6);
}

// Keras draws from [1, 1 + f], or from [1 - a, 1 + b] for two numbers.
TEST(Images, ContrastIsDrawnFromKerassRange) {
  const auto expect_strengths = [](const RandomContrast& layer, double low, double high) {
    std::vector<float> pairs;
    for (int i = 0; i < 2000; ++i) pairs.insert(pairs.end(), {-1.0f, 1.0f});
    std::vector<float> strengths;
    for (const float pixel : layer(Tensor::of(pairs, {2000, 1, 2, 1}), kTraining).to_vector<float>()) {
      strengths.push_back(std::abs(pixel));
    }
    const auto [least, most] = std::minmax_element(strengths.begin(), strengths.end());
    EXPECT_GE(*least, low - 1e-6);
    EXPECT_NEAR(*least, low, 0.01);
    EXPECT_LE(*most, high + 1e-6);
    EXPECT_NEAR(*most, high, 0.01);
  };
  expect_strengths(RandomContrast(0.5, {.value_range = {-9, 9}, .seed = 3}), 1.0, 1.5);
  expect_strengths(RandomContrast({0.2, 0.6}, {.value_range = {-9, 9}, .seed = 3}), 0.8, 1.6);
  expect_strengths(RandomContrast({0.6, 0.2}, {.value_range = {-9, 9}, .seed = 3}), 0.8, 1.6);
}

TEST(Images, ConfigsKeepWhatKerasKeeps) {
  EXPECT_NE(config_to_json(*RandomRotation(0.2)).find("\"factor\":[-0.2,0.2]"), std::string::npos);
  EXPECT_NE(config_to_json(*RandomContrast(0.3)).find("\"factor\":[0.0,0.3]"), std::string::npos);
  const std::string zoom = config_to_json(*RandomZoom(0.2));
  EXPECT_NE(zoom.find("\"height_factor\":0.2"), std::string::npos) << zoom;
  EXPECT_NE(zoom.find("\"width_factor\":null"), std::string::npos) << zoom;
}

TEST(Images, WrongShapesAndOptionsAreErrors) {
  test::expect_error(
      [] {
        Resizing(2, 2, {.name = "mine"})(counting({2, 3}));
      },
      {"Resizing 'mine'", "4 axes", "(2, 3)"});
  test::expect_error([] { Resizing(0, 2); }, {"Resizing", "height=0"});
  test::expect_error([] { Resizing(2, 2, {.interpolation = "cubic"}); }, {"Resizing", "'cubic'"});
  test::expect_error([] { Resizing(2, 2, {.fill_mode = "wrap"}); }, {"Resizing", "fill_mode"});
  test::expect_error([] { Resizing(2, 2, {.crop_to_aspect_ratio = true, .pad_to_aspect_ratio = true}); }, {"only one"});
  test::expect_error([] { CenterCrop(2, -1); }, {"CenterCrop", "width=-1"});
  test::expect_error([] { RandomFlip("diagonal"); }, {"RandomFlip", "mode", "'diagonal'"});
  test::expect_error([] { RandomRotation(1.5); }, {"RandomRotation", "factor"});
  test::expect_error([] { RandomRotation({0.1, 0.2, 0.3}); }, {"RandomRotation", "factor"});
  test::expect_error([] { RandomRotation(0.1, {.fill_mode = "mirror"}); }, {"RandomRotation", "fill_mode", "mirror"});
  test::expect_error([] { RandomZoom(0.1, {.interpolation = "cubic"}); }, {"RandomZoom", "interpolation"});
  test::expect_error([] { RandomZoom({-1.0, 0.5}); }, {"RandomZoom", "above -1"});
  test::expect_error([] { RandomTranslation(0.1, 2.0); }, {"RandomTranslation", "width_factor"});
  test::expect_error([] { RandomContrast(-0.1); }, {"RandomContrast", "factor"});
  test::expect_error([] { RandomBrightness(0.1, {.value_range = {1}}); }, {"RandomBrightness", "value_range"});
}

}  // namespace
}  // namespace cohort::layers
