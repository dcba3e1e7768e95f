#include "cohort/layers/regularization/dropout.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "cohort/core/random.h"
#include "tests/support/op_check.h"

namespace cohort::layers {
namespace {

TEST(Dropout, DropsInTrainingOnly) {
  const Dropout dropout(0.25, {.seed = 3});
  const Tensor ones = Tensor::full({100, 50}, 1.0);
  test::expect_values(dropout(ones), std::vector<double>(5000, 1.0), 0);
  const std::vector<float> dropped = dropout(ones, {.training = true}).to_vector<float>();
  const auto zeros = std::count(dropped.begin(), dropped.end(), 0.0f);
  EXPECT_NEAR(static_cast<double>(zeros) / 5000, 0.25, 0.03);
  for (float value : dropped) EXPECT_TRUE(value == 0.0f || std::abs(value - 4.0f / 3.0f) < 1e-6f);
}

TEST(Dropout, ASeedRepeatsItsChoices) {
  set_random_seed(1);
  const Tensor ones = Tensor::full({20, 10}, 1.0);
  const auto draw = [&](const Dropout& layer) { return layer(ones, {.training = true}).to_vector<float>(); };
  const Dropout first(0.5, {.seed = 9}), second(0.5, {.seed = 9}), other(0.5, {.seed = 10});
  const std::vector<float> one = draw(first), two = draw(first);
  EXPECT_EQ(draw(second), one);
  EXPECT_EQ(draw(second), two);
  EXPECT_NE(one, two);
  EXPECT_NE(draw(other), one);
}

TEST(Dropout, NoiseShapeDropsTogether) {
  const Dropout dropout(0.5, {.noise_shape = Shape{kUnknown, 1, 4}, .seed = 2});
  const std::vector<float> y = dropout(Tensor::full({8, 3, 4}, 1.0), {.training = true}).to_vector<float>();
  for (std::size_t batch = 0; batch < 8; ++batch) {
    for (std::size_t channel = 0; channel < 4; ++channel) {
      EXPECT_EQ(y[batch * 12 + channel], y[batch * 12 + 4 + channel]);
      EXPECT_EQ(y[batch * 12 + channel], y[batch * 12 + 8 + channel]);
    }
  }
  test::expect_error([] { Dropout(1.5); }, {"rate", "1.5"});
}

}  // namespace
}  // namespace cohort::layers
