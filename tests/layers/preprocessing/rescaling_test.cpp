#include "cohort/layers/preprocessing/rescaling.h"

#include <gtest/gtest.h>

#include "tests/support/op_check.h"

namespace cohort::layers {
namespace {

TEST(Rescaling, TurnsBytesIntoFloats) {
  const Tensor bytes = Tensor::of<std::uint8_t>({0, 51, 255}, {1, 3});
  test::expect_tensor(Rescaling(1.0 / 255)(bytes), DType::Float32, {1, 3}, {0, 0.2, 1});
  test::expect_tensor(Rescaling(2.0, {.offset = 1.0})(bytes), DType::Float32, {1, 3}, {1, 103, 511});
  test::expect_tensor(Rescaling({1, 2, 3}, {.offset = {0, 1, -1}})(bytes), DType::Float32, {1, 3}, {0, 103, 764});
}

}  // namespace
}  // namespace cohort::layers
