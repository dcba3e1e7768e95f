#include <gtest/gtest.h>

#include "cohort/losses/losses.h"
#include "cohort/ops/math.h"
#include "cohort/ops/reduce.h"
#include "tests/support/floats.h"
#include "tests/support/op_check.h"

namespace cohort {
namespace {

TEST(LossFunctionWrapper, MakesALossOfAFunction) {
  const losses::LossFunctionWrapper distance(
      [](const Tensor& y, const Tensor& p) { return ops::mean(ops::abs(y - p), -1); },
      {.reduction = "sum", .name = "distance"});
  const Tensor y_true = floats({0, 1, 2, 3}, {2, 2}), y_pred = floats({1, 1, 0, 1}, {2, 2});
  EXPECT_FLOAT_EQ(distance(y_true, y_pred).item<float>(), 2.5f);
  EXPECT_FLOAT_EQ(distance(y_true, y_pred, floats({2, 0}, {2})).item<float>(), 1.0f);
  EXPECT_EQ(distance->name(), "distance");
  test::expect_error([] { losses::LossFunctionWrapper(losses::LossFunction()); }, {"a function of y_true and y_pred"});
}

}  // namespace
}  // namespace cohort
