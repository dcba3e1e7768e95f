#include <gtest/gtest.h>

#include <numeric>

#include "cohort/layers/reshaping/up_sampling.h"
#include "tests/support/op_check.h"

namespace cohort::layers {
namespace {

Tensor counting(const Shape& shape) {
  std::vector<float> values(static_cast<std::size_t>(shape.num_elements()));
  std::iota(values.begin(), values.end(), 0.0f);
  return Tensor::of(values, shape);
}

TEST(UpSampling, RepeatsOrInterpolates) {
  test::expect_tensor(UpSampling1D(2)(counting({1, 2, 1})), float32, {1, 4, 1}, {0, 0, 1, 1});
  test::expect_tensor(UpSampling2D({1, 2})(counting({1, 1, 2, 1})), float32, {1, 1, 4, 1}, {0, 0, 1, 1});
  test::expect_tensor(UpSampling2D({1, 2}, {.interpolation = "bilinear"})(counting({1, 1, 2, 1})), float32,
                      {1, 1, 4, 1}, {0, 0.25, 0.75, 1});
  EXPECT_EQ(UpSampling3D({1, 2, 3})(counting({1, 2, 2, 2, 1})).shape(), Shape({1, 2, 4, 6, 1}));
}

TEST(Reshaping, WrongShapesAndSizesAreErrors) {
  test::expect_error([] { UpSampling1D(0); }, {"UpSampling1D", "size=0"});
  test::expect_error([] { UpSampling2D(2, {.interpolation = "cubic"}); }, {"UpSampling2D", "'cubic'"});
  test::expect_error([] { UpSampling3D({1, 2}); }, {"UpSampling3D", "size", "3 of them"});
}

}  // namespace
}  // namespace cohort::layers
