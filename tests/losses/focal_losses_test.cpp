#include <gtest/gtest.h>

#include "cohort/losses/losses.h"
#include "tests/support/floats.h"

namespace cohort {
namespace {

TEST(FocalLosses, AreCrossentropiesWithoutFocus) {
  const Tensor labels = floats({0, 1, 1, 0}, {2, 2}), chances = floats({0.1f, 0.8f, 0.6f, 0.3f}, {2, 2});
  const float focal = losses::BinaryFocalCrossentropy({.gamma = 0.0})(labels, chances).item<float>();
  EXPECT_NEAR(focal, losses::BinaryCrossentropy()(labels, chances).item<float>(), 1e-6);
  const Tensor one_hot = floats({0, 1, 0, 0, 0, 1}, {2, 3}),
               shares = floats({0.1f, 0.7f, 0.2f, 0.3f, 0.3f, 0.4f}, {2, 3});
  const float categorical =
      losses::CategoricalFocalCrossentropy({.alpha = 1.0, .gamma = 0.0})(one_hot, shares).item<float>();
  EXPECT_NEAR(categorical, losses::CategoricalCrossentropy()(one_hot, shares).item<float>(), 1e-6);
}

}  // namespace
}  // namespace cohort
