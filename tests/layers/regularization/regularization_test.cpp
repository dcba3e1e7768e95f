#include <gtest/gtest.h>

#include <cmath>
#include <type_traits>

#include "cohort/layers/regularization/activity_regularization.h"
#include "cohort/layers/regularization/alpha_dropout.h"
#include "cohort/layers/regularization/gaussian_noise.h"
#include "cohort/layers/regularization/spatial_dropout.h"
#include "tests/support/op_check.h"

namespace cohort::layers {
namespace {

struct Statistics {
  explicit Statistics(const Tensor& tensor) {
    const std::vector<double> values = tensor.to_vector<double>();
    const auto count = static_cast<double>(values.size());
    for (double value : values) mean += value / count;
    for (double value : values) deviation += (value - mean) * (value - mean) / count;
    deviation = std::sqrt(deviation);
  }
  double mean = 0, deviation = 0;
};

TEST(GaussianNoise, HasItsMeanAndDeviationInTrainingOnly) {
  const Tensor ones = Tensor::full({200, 50}, 1.0);
  const Statistics noise(GaussianNoise(0.5, {.seed = 1})(ones, {.training = true}));
  EXPECT_NEAR(noise.mean, 1.0, 0.02);
  EXPECT_NEAR(noise.deviation, 0.5, 0.02);
  const Statistics dropout(GaussianDropout(0.2, {.seed = 1})(ones, {.training = true}));
  EXPECT_NEAR(dropout.mean, 1.0, 0.02);
  EXPECT_NEAR(dropout.deviation, 0.5, 0.02);
  EXPECT_LT(Statistics(GaussianNoise(0.5)(ones)).deviation, 1e-9);
}

TEST(AlphaDropout, KeepsMeanAndDeviationOfNormalInputs) {
  const Tensor normal = GaussianNoise(1.0, {.seed = 2})(Tensor::full({400, 100}, 0.0), {.training = true});
  const Statistics dropped(AlphaDropout(0.4, {.seed = 3})(normal, {.training = true}));
  EXPECT_NEAR(dropped.mean, 0.0, 0.03);
  EXPECT_NEAR(dropped.deviation, 1.0, 0.03);
}

TEST(AlphaDropout, NoiseShapeDropsTogether) {
  const AlphaDropout dropout(0.5, {.noise_shape = Shape{kUnknown, 1}, .seed = 4});
  const std::vector<float> y = dropout(Tensor::full({20, 3}, 1.0), {.training = true}).to_vector<float>();
  for (std::size_t row = 0; row < 20; ++row) {
    EXPECT_EQ(y[row * 3], y[row * 3 + 1]);
    EXPECT_EQ(y[row * 3], y[row * 3 + 2]);
  }
  EXPECT_NE(std::count(y.begin(), y.end(), y[0]), 60);
}

TEST(SpatialDropout, DropsWholeChannels) {
  const SpatialDropout2D dropout(0.5, {.data_format = "channels_first", .seed = 5});
  const std::vector<float> y = dropout(Tensor::full({10, 6, 2, 2}, 1.0), {.training = true}).to_vector<float>();
  int zeros = 0;
  for (std::size_t channel = 0; channel < 60; ++channel) {
    for (std::size_t i = 1; i < 4; ++i) EXPECT_EQ(y[channel * 4], y[channel * 4 + i]);
    EXPECT_TRUE(y[channel * 4] == 0.0f || y[channel * 4] == 2.0f);
    zeros += y[channel * 4] == 0.0f;
  }
  EXPECT_NEAR(zeros, 30, 15);
}

// Keras: "SpatialDropout1D.__init__() got an unexpected keyword argument 'data_format'".
TEST(SpatialDropout, OfStepsHasNoDataFormat) {
  EXPECT_FALSE((std::is_constructible_v<SpatialDropout1D, double, SpatialDropoutOptions>));
  EXPECT_TRUE((std::is_constructible_v<SpatialDropout2D, double, SpatialDropoutOptions>));
  const std::vector<float> y =
      SpatialDropout1D(0.5, {.seed = 3, .name = "steps"})(Tensor::full({1, 3, 64}, 1.0), {.training = true})
          .to_vector<float>();
  const std::vector<float> first(y.begin(), y.begin() + 64), last(y.begin() + 128, y.end());
  EXPECT_EQ(first, last);
  EXPECT_NE(first, std::vector<float>(64, first[0]));
}

TEST(ActivityRegularization, BecomesALoss) {
  const ActivityRegularization layer({.l1 = 1.0, .l2 = 0.5});
  layer(Tensor::of<float>({1, -2, 3, 4}, {2, 2}));
  ASSERT_EQ(layer->losses().size(), 1u);
  EXPECT_NEAR(layer->losses()[0].item<double>(), (10 + 0.5 * 30) / 2, 1e-5);
}

TEST(Regularization, WrongRatesAndShapesAreErrors) {
  test::expect_error([] { GaussianNoise(-0.5); }, {"GaussianNoise", "stddev=-0.5"});
  test::expect_error([] { GaussianDropout(1.5); }, {"GaussianDropout", "rate=1.5"});
  test::expect_error([] { GaussianDropout(1.0)(Tensor::full({2, 2}, 1.0), {.training = true}); }, {"below 1"});
  test::expect_error([] { AlphaDropout(2.0); }, {"AlphaDropout", "rate=2"});
  test::expect_error(
      [] {
        SpatialDropout1D(0.5)(Tensor::full({2, 2}, 1.0));
      },
      {"SpatialDropout1D", "3 axes", "(2, 2)"});
  test::expect_error([] { SpatialDropout3D(0.5, {.data_format = "last"}); }, {"SpatialDropout3D", "data_format"});
  test::expect_error(
      [] {
        AlphaDropout(0.5, {.noise_shape = Shape{1, 2, 3}})(Tensor::full({2, 2}, 1.0), {.training = true});
      },
      {"AlphaDropout", "noise_shape", "(1, 2, 3)"});
}

}  // namespace
}  // namespace cohort::layers
