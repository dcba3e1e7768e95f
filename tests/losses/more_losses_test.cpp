#include <gtest/gtest.h>

#include "cohort/losses/losses.h"
#include "cohort/ops/math.h"
#include "cohort/ops/reduce.h"
#include "cohort/saving/config_json.h"
#include "tests/support/floats.h"
#include "tests/support/op_check.h"

// Numbers of these losses are compared with Keras's in the golden cases; here is what those cannot show.

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

TEST(Losses, OfMoreKindsRefuseWhatDoesNotFit) {
  const Tensor scores = floats({1, 2, 0.5, 0, -1, 3}, {2, 3}), column = floats({1, 0}, {2, 1});
  using test::expect_error;
  expect_error([&] { losses::Dice()(floats({1, 0}, {1, 2}), scores); }, {"dice", "(1, 2)", "(2, 3)"});
  expect_error([&] { losses::Tversky()(floats({1, 0}, {1, 2}), scores); }, {"tversky", "(1, 2)"});
  expect_error([&] { losses::BinaryFocalCrossentropy()(column, scores); }, {"binary_focal_crossentropy"});
  expect_error([&] { losses::CategoricalFocalCrossentropy()(column, scores); }, {"categorical_focal_crossentropy"});
  expect_error([&] { losses::CategoricalGeneralizedCrossEntropy()(column, scores); }, {"class numbers", "(2, 1)"});
  expect_error([] { losses::CategoricalGeneralizedCrossEntropy({.q = 1.0}); }, {"(0, 1)", "q=1"});
  expect_error([&] { losses::Circle()(scores, scores); }, {"circle", "(2, 3)"});
  expect_error([&] { losses::CTC()(column, scores); }, {"ctc", "(batch, steps, classes)"});
  losses::CategoricalGeneralizedCrossEntropyLoss read;
  expect_error([&] { from_json(read, R"({"name": "g", "reduction": "sum", "q": 0.0})"); }, {"q=0"});
}

TEST(Losses, CanBeAFunction) {
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
