#include <gtest/gtest.h>

#include <cmath>

#include "cohort/autodiff/tape.h"
#include "cohort/graph/function.h"
#include "cohort/layers/core/dense.h"
#include "cohort/layers/core/identity.h"
#include "cohort/layers/normalization/batch_normalization.h"
#include "cohort/layers/normalization/group_normalization.h"
#include "cohort/layers/normalization/layer_normalization.h"
#include "cohort/layers/normalization/rms_normalization.h"
#include "cohort/layers/normalization/spectral_normalization.h"
#include "cohort/layers/normalization/unit_normalization.h"
#include "cohort/model/regularizers.h"
#include "tests/layers/counting.h"
#include "tests/support/op_check.h"

namespace cohort::layers {
namespace {

TEST(BatchNormalization, FollowsTheStatisticsOfBatches) {
  const BatchNormalization norm({.momentum = 0.5, .epsilon = 0.0});
  const Tensor x = Tensor::of<float>({1, 3, 5, 7}, {2, 2});  // means 3 and 5, variances 4
  test::expect_values(norm(x, {.training = true}), {-1, -1, 1, 1}, 1e-6);
  const Variables weights = norm->weights();
  ASSERT_EQ(weights.size(), 4u);
  EXPECT_EQ(weights[2].name(), "moving_mean");
  test::expect_values(weights[2].value(), {1.5, 2.5}, 1e-6);
  test::expect_values(weights[3].value(), {2.5, 2.5}, 1e-6);
  const double r = 1 / std::sqrt(2.5);
  test::expect_values(norm(x), {-0.5 * r, 0.5 * r, 3.5 * r, 4.5 * r}, 1e-6);
  test::expect_values(weights[2].value(), {1.5, 2.5}, 1e-6);
}

TEST(BatchNormalization, FrozenItUsesAndKeepsMovingStatistics) {
  const BatchNormalization norm({.epsilon = 0.0});
  norm->ensure_built({{2, 2}});
  norm->set_trainable(false);
  const Tensor x = Tensor::of<float>({1, 3, 5, 7}, {2, 2});
  test::expect_values(norm(x, {.training = true}), {1, 3, 5, 7}, 1e-6);
  test::expect_values(norm->weights()[2].value(), {0, 0}, 0);
}

TEST(BatchNormalization, UpdatesOnceInATrace) {
  const BatchNormalization norm({.momentum = 0.5});
  norm->ensure_built({{2, 2}});
  const Function step = function([&](const Tensor& x) { return norm(x, {.training = true}); },
                                 {.input_signature = {{float32, {kUnknown, 2}}}});
  for (int i = 0; i < 2; ++i) step(Tensor::of<float>({1, 3, 5, 7}, {2, 2}));
  test::expect_values(norm->weights()[2].value(), {2.25, 3.75}, 1e-6);
}

TEST(BatchNormalization, SixteenBitsKeepStatisticsInThirtyTwo) {
  const BatchNormalization norm({.dtype = "mixed_bfloat16"});
  const Tensor y = norm(Tensor::of<float>({1, 3, 5, 7}, {2, 2}), {.training = true});
  EXPECT_EQ(y.dtype(), bfloat16);
  EXPECT_EQ(norm->weights()[2].value().dtype(), float32);
}

TEST(Normalization, WrongShapesAndOptionsAreErrors) {
  test::expect_error([] { BatchNormalization({.name = "mine"})(counting({3})); },
                     {"BatchNormalization 'mine'", "2 axes", "(3,)"});
  const BatchNormalization built({.name = "built"});
  built(counting({2, 3}));
  test::expect_error([&] { built(counting({2, 4})); }, {"BatchNormalization 'built'", "size 3", "(2, 4)"});
  test::expect_error(
      [] {
        BatchNormalization()(counting({2, 3, 4}), {.training = true, .mask = Tensor::full({2}, 1, boolean)});
      },
      {"BatchNormalization", "mask", "(2,)"});
  test::expect_error(
      [] {
        BatchNormalization({.renorm = true, .renorm_clipping = NumberDict{{"max", 1}}});
      },
      {"BatchNormalization", "'rmax'", "max=1"});
  test::expect_error(
      [] {
        BatchNormalization({.renorm = true, .renorm_clipping = NumberDict{{"rmax", 1}, {"rmin", 2}}});
      },
      {"BatchNormalization", "below rmin", "rmin=2"});
  test::expect_error([] { LayerNormalization({.axis = 3})(counting({2, 3})); }, {"LayerNormalization", "axis=3"});
  test::expect_error([] { UnitNormalization({.axis = {-3}})(counting({2, 3})); }, {"UnitNormalization", "axis=-3"});
  test::expect_error([] { RMSNormalization({.axis = {2}})(counting({2, 3})); }, {"RMSNormalization", "axis=2"});
  test::expect_error([] { GroupNormalization(0); }, {"GroupNormalization", "groups=0"});
  test::expect_error([] { GroupNormalization(4)(counting({2, 6})); }, {"divide", "groups=4", "(2, 6)"});
  test::expect_error([] { SpectralNormalization(Dense(2), 0); }, {"power_iterations=0"});
  const SpectralNormalization nothing_inside{Identity()};
  test::expect_error([&] { nothing_inside(counting({2, 3})); }, {"SpectralNormalization", "kernel or embeddings"});
}

TEST(SpectralNormalization, DividesTheKernelByItsLargestSingularValue) {
  const SpectralNormalization wrapped(Dense(2, {.use_bias = false, .kernel_regularizer = regularizers::L2(1.0)}), 20);
  wrapped->ensure_built({{1, 2}});
  wrapped->set_weights({Tensor::of<float>({3, 0, 0, 1}, {2, 2}), Tensor::of<float>({1, 1}, {1, 2})});
  test::expect_values(wrapped(Tensor::of<float>({1, 1}, {1, 2}), {.training = true}), {1, 1.0 / 3}, 1e-4);
  test::expect_values(wrapped->weights()[0].value(), {1, 0, 0, 1.0 / 3}, 1e-4);
  EXPECT_EQ(wrapped->weights().size(), 2u);
  ASSERT_EQ(wrapped->losses().size(), 1u);
  EXPECT_NEAR(wrapped->losses()[0].item<double>(), 1 + 1.0 / 9, 1e-3);
}

TEST(SpectralNormalization, AKernelOfZerosStays) {
  const SpectralNormalization wrapped(Dense(2, {.use_bias = false, .kernel_initializer = "zeros"}));
  test::expect_values(wrapped(Tensor::of<float>({1, 1}, {1, 2}), {.training = true}), {0, 0}, 0);
}

}  // namespace
}  // namespace cohort::layers
