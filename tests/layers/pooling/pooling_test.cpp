#include <gtest/gtest.h>

#include "cohort/layers/pooling/adaptive_pooling.h"
#include "cohort/layers/pooling/average_pooling.h"
#include "cohort/layers/pooling/global_pooling.h"
#include "cohort/layers/pooling/max_pooling.h"
#include "tests/layers/counting.h"
#include "tests/support/op_check.h"

namespace cohort::layers {
namespace {

TEST(Pooling, StridesDefaultToTheWindow) {
  test::expect_tensor(MaxPooling1D()(counting({1, 5, 1})), float32, {1, 2, 1}, {1, 3});
  test::expect_tensor(AveragePooling1D(2, {.padding = "same"})(counting({1, 5, 1})), float32, {1, 3, 1}, {0.5, 2.5, 4});
  test::expect_tensor(MaxPooling2D({2, 1}, {.strides = {1, 2}})(counting({1, 3, 3, 1})), float32, {1, 2, 2, 1},
                      {3, 5, 6, 8});
  EXPECT_EQ(AveragePooling3D(2, {.strides = 1})(counting({1, 3, 4, 5, 2})).shape(), Shape({1, 2, 3, 4, 2}));
}

TEST(Pooling, ChannelsMayComeFirst) {
  test::expect_tensor(MaxPooling2D(2, {.data_format = "channels_first"})(counting({1, 2, 2, 2})), float32, {1, 2, 1, 1},
                      {3, 7});
  test::expect_tensor(GlobalAveragePooling1D({.data_format = "channels_first", .keepdims = true})(counting({1, 2, 3})),
                      float32, {1, 2, 1}, {1, 4});
  EXPECT_EQ(AdaptiveMaxPooling2D({3, 2}, {.data_format = "channels_first"})(counting({1, 4, 5, 7})).shape(),
            Shape({1, 4, 3, 2}));
}

TEST(Pooling, AMaskLeavesStepsOutOfTheMean) {
  const Tensor mask = Tensor::of(std::vector<std::uint8_t>{1, 1, 0, 1, 0, 0}, {2, 3});
  test::expect_tensor(GlobalAveragePooling1D()(counting({2, 3, 1}), {.mask = mask}), float32, {2, 1}, {0.5, 3});
}

TEST(Pooling, WrongShapesAndOptionsAreErrors) {
  test::expect_error(
      [] {
        MaxPooling2D(2, {.name = "mine"})(counting({2, 8}));
      },
      {"MaxPooling2D 'mine'", "4 axes (batch, height, width, channels)", "(2, 8)", "Reshape"});
  test::expect_error(
      [] {
        MaxPooling2D(3, {.name = "mine"})(counting({1, 2, 2, 1}));
      },
      {"MaxPooling2D 'mine'", "fit", "(1, 2, 2, 1)"});
  test::expect_error([] { MaxPooling1D(0); }, {"MaxPooling1D", "pool_size", "(0)"});
  test::expect_error([] { AveragePooling2D({1, 2, 3}); }, {"AveragePooling2D", "pool_size", "2 of them"});
  test::expect_error([] { AveragePooling2D(2, {.strides = -1}); }, {"AveragePooling2D", "strides"});
  test::expect_error([] { MaxPooling3D(2, {.padding = "causal"}); }, {"MaxPooling3D", "padding", "'causal'"});
  test::expect_error([] { AdaptiveAveragePooling1D(0); }, {"AdaptiveAveragePooling1D", "output_size"});
  test::expect_error([] { GlobalMaxPooling2D({.data_format = "NHWC"}); },
                     {"GlobalMaxPooling2D", "data_format", "NHWC"});
  test::expect_error([] { GlobalMaxPooling1D()(counting({2, 2, 2, 2})); }, {"3 axes", "(batch, steps, channels)"});
}

}  // namespace
}  // namespace cohort::layers
