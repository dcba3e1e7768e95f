#include <gtest/gtest.h>

#include "cohort/layers/layers.h"
#include "tests/support/op_check.h"

namespace cohort::layers {
namespace {

TEST(ActivationLayers, ApplyTheirFunction) {
  const Tensor x = Tensor::of<float>({-2, 0.5, 3, 1}, {1, 4});
  test::expect_values(layers::Activation("relu")(x), {0, 0.5, 3, 1}, 0);
  test::expect_values(ReLU({.max_value = 2.0, .negative_slope = 0.1})(x), {-0.2, 0.5, 2, 1}, 1e-6);
  test::expect_values(LeakyReLU()(x), {-0.6, 0.5, 3, 1}, 1e-6);
  test::expect_values(ELU({.alpha = 0.5})(x), {-0.43233236, 0.5, 3, 1}, 1e-6);
  test::expect_values(PReLU({.alpha_initializer = "ones"})(x), {-2, 0.5, 3, 1}, 0);
  const Tensor mask = Tensor::of<bool>({true, false, true, false}, {1, 4});
  test::expect_values(Softmax()(x, {.mask = mask}), {0.006692851, 0, 0.99330715, 0}, 1e-6);
}

}  // namespace
}  // namespace cohort::layers
