#include "cohort/losses/losses.h"

#include <gtest/gtest.h>

#include "cohort/autodiff/tape.h"
#include "cohort/ops/math.h"
#include "cohort/ops/reduce.h"
#include "cohort/saving/config_json.h"
#include "tests/support/floats.h"
#include "tests/support/op_check.h"

// Expected numbers come from Keras 3.15.

namespace cohort {
namespace {

const Shape k2x2 = {2, 2};

float value(const Tensor& tensor) { return tensor.item<float>(); }

TEST(Losses, RegressionMatchesKeras) {
  struct Case {
    const char* name;
    double plain, weighted;
  };
  const Case cases[] = {{"MeanSquaredError", 0.0975, 0.1575},
                        {"MeanAbsoluteError", 0.275, 0.4},
                        {"MeanAbsolutePercentageError", 23.75, 28.75},
                        {"MeanSquaredLogarithmicError", 0.018225696, 0.024984792},
                        {"LogCosh", 0.04732874, 0.076157816},
                        {"Poisson", 0.90470886, 1.0923849},
                        {"KLDivergence", 0.1327571, 0.06637855},
                        {"CosineSimilarity", -0.97397244, -1.220338},
                        {"Huber", 0.048750006, 0.078750007}};
  const Tensor y_true = floats({0.5, 1, 2, 1}, k2x2), y_pred = floats({0.6f, 0.7f, 1.5f, 1.2f}, k2x2);
  const Tensor weight = floats({0.5, 2}, {2});
  for (const Case& each : cases) {
    SCOPED_TRACE(each.name);
    const Ref<Loss> loss = each.name;
    EXPECT_NEAR(value((*loss)(y_true, y_pred)), each.plain, 1e-5 * (1 + std::abs(each.plain)));
    EXPECT_NEAR(value((*loss)(y_true, y_pred, weight)), each.weighted, 1e-5 * (1 + std::abs(each.weighted)));
    EXPECT_EQ(loss->class_name(), each.name);
  }
}

TEST(Losses, HingesMatchKeras) {
  const Tensor scores = floats({0.3f, 0.6f, 1.5f}, {1, 3});
  EXPECT_NEAR(value(losses::Hinge()(floats({1, -1, 1}, {1, 3}), scores)), 0.76666665, 1e-6);
  EXPECT_NEAR(value(losses::Hinge()(floats({1, 0, 1}, {1, 3}), scores)), 0.76666665, 1e-6);
  EXPECT_NEAR(value(losses::SquaredHinge()(floats({1, -1, 1}, {1, 3}), scores)), 1.0166668, 1e-6);
  EXPECT_NEAR(value(losses::CategoricalHinge()(floats({0, 1, 0}, {1, 3}), scores)), 1.9, 1e-6);
}

TEST(Losses, ReductionsMatchKeras) {
  const Tensor y_true = floats({0, 1, 2, -1}, k2x2), y_pred = floats({0.5, 0.5, 1.5, 1}, k2x2);
  const Tensor weight = floats({0.5, 2}, {2});
  const auto reduced = [&](const char* reduction) {
    return losses::MeanSquaredError({.reduction = reduction})(y_true, y_pred, weight).to_vector<float>();
  };
  EXPECT_EQ(reduced("sum_over_batch_size"), std::vector<float>{2.1875});
  EXPECT_EQ(reduced("sum"), std::vector<float>{4.375});
  EXPECT_EQ(reduced("mean"), std::vector<float>{2.1875});
  EXPECT_EQ(reduced("mean_with_sample_weight"), std::vector<float>{1.75});
  EXPECT_EQ(reduced("none"), (std::vector<float>{0.125, 4.25}));
  test::expect_error([] { losses::MeanSquaredError({.reduction = "median"}); }, {"reduction", "Received", "median"});
}

TEST(Losses, CrossentropiesMatchKeras) {
  const Tensor labels = floats({0, 1, 1, 0}, k2x2), logits = floats({-2, 1, 0.5, -1}, k2x2);
  EXPECT_NEAR(value(losses::BinaryCrossentropy()(labels, floats({0.1f, 0.8f, 0.6f, 0.3f}, k2x2))), 0.29900116, 1e-6);
  EXPECT_NEAR(value(losses::BinaryCrossentropy({.from_logits = true, .label_smoothing = 0.2})(labels, logits)),
              0.41938207, 1e-6);

  const Tensor one_hot = floats({0, 1, 0, 0, 0, 1}, {2, 3}), classes = Tensor::of<std::int32_t>({1, 2}, {2});
  const Tensor chances = floats({0.1f, 0.7f, 0.2f, 0.3f, 0.3f, 0.8f}, {2, 3});
  const Tensor scores = floats({1, 2, 0.5, 0, -1, 3}, {2, 3});
  EXPECT_NEAR(value(losses::CategoricalCrossentropy()(one_hot, chances)), 0.4581454, 1e-6);
  EXPECT_NEAR(value(losses::CategoricalCrossentropy({.from_logits = true, .label_smoothing = 0.1})(one_hot, scores)),
              0.4234597, 1e-6);
  EXPECT_NEAR(value(losses::SparseCategoricalCrossentropy()(classes, chances)), 0.4581453, 1e-6);
  EXPECT_NEAR(value(losses::SparseCategoricalCrossentropy({.from_logits = true})(classes, scores)), 0.26512635, 1e-6);
  EXPECT_NEAR(value(losses::SparseCategoricalCrossentropy({.from_logits = true, .ignore_class = 1})(classes, scores)),
              0.06588391, 1e-6);
  const Tensor column = Tensor::of<std::int64_t>({1, 2}, {2, 1});
  EXPECT_NEAR(value(losses::SparseCategoricalCrossentropy({.from_logits = true})(column, scores)), 0.26512635, 1e-6);
}

TEST(Losses, AnIgnoredClassMayLieOutsideTheLabelsType) {
  const auto of = [](const Tensor& label, std::int64_t ignored) {
    const Tensor chances = Tensor::full({1, 256}, 1.0 / 256);
    return value(ops::sum(losses::sparse_categorical_crossentropy(label, chances, false, ignored)));
  };
  const Tensor last = Tensor::of<std::uint8_t>({255}, {1});
  EXPECT_NEAR(of(last, -1), 5.5451775, 1e-6);
  EXPECT_EQ(of(last, 255), 0.0f);
  EXPECT_NEAR(of(Tensor::of<std::int8_t>({3}, {1}), 259), 5.5451775, 1e-6);
}

TEST(Losses, ClassNumbersAsFloatsAreAccepted) {
  const Tensor scores = floats({1, 2, 0.5, 0, -1, 3}, {2, 3});
  EXPECT_NEAR(value(losses::SparseCategoricalCrossentropy({.from_logits = true})(floats({1, 2}, {2}), scores)),
              0.26512635, 1e-6);
}

TEST(Losses, LabelsOutOfRangeAreAnError) {
  const Tensor scores = floats({1, 2, 0.5, 0, -1, 3}, {2, 3});
  test::expect_error(
      [&] {
        losses::SparseCategoricalCrossentropy({.from_logits = true})(Tensor::of<std::int32_t>({1, 3}, {2}), scores);
      },
      {"3"});
}

TEST(Losses, ShapesThatDoNotFitAreAnError) {
  const Tensor scores = floats({1, 2, 0.5, 0, -1, 3}, {2, 3});
  test::expect_error(
      [&] {
        losses::SparseCategoricalCrossentropy()(Tensor::of<std::int32_t>({1, 2, 0}, {3}), scores);
      },
      {"y_true", "y_pred", "(3,)", "(2, 3)"});
  test::expect_error([&] { losses::BinaryCrossentropy()(floats({1, 0}, {2, 1}), scores); }, {"same shape"});
  test::expect_error([] { Ref<Loss> loss = "no_such_loss"; }, {"no_such_loss", "mean_squared_error"});
}

TEST(Losses, AMaskLeavesStepsOut) {
  const Tensor y_true = floats({0, 0, 0, 0}, {2, 2, 1}), y_pred = floats({1, 2, 3, 4}, {2, 2, 1});
  const Tensor mask = Tensor::of<bool>({true, false, true, false}, {2, 2});
  losses::MeanSquaredErrorLoss loss;
  EXPECT_FLOAT_EQ(value(loss(y_true, y_pred, {}, mask)), (1.0f + 9.0f) / 2);
  losses::MeanSquaredErrorLoss sum({.reduction = "sum"});
  EXPECT_FLOAT_EQ(value(sum(y_true, y_pred, {}, mask)), 10.0f);
}

TEST(Losses, GradientOfMeanSquaredError) {
  const Tensor y_true = floats({0, 1, 2, -1}, k2x2), y_pred = floats({0.5, 0.5, 1.5, 1}, k2x2);
  GradientTape tape;
  tape.watch(y_pred);
  const Tensor loss = losses::MeanSquaredError()(y_true, y_pred);
  const std::vector<float> gradient = tape.gradient(loss, y_pred).to_vector<float>();
  EXPECT_EQ(gradient, (std::vector<float>{0.25, -0.25, -0.25, 1}));
}

TEST(Losses, AliasesNameTheSameClass) {
  for (const char* name : {"mse", "MSE", "mean_squared_error", "MeanSquaredError"}) {
    EXPECT_EQ(Ref<Loss>(name)->class_name(), "MeanSquaredError");
  }
  EXPECT_EQ(Ref<Loss>("bce")->class_name(), "BinaryCrossentropy");
  EXPECT_EQ(Ref<Loss>("kld")->class_name(), "KLDivergence");
}

TEST(Losses, ConfigsGoRoundTrip) {
  losses::SparseCategoricalCrossentropyLoss loss({.from_logits = true, .ignore_class = 3, .reduction = "sum"});
  const std::string json = to_json(loss);
  EXPECT_NE(json.find("\"from_logits\""), std::string::npos);
  losses::SparseCategoricalCrossentropyLoss read;
  from_json(read, R"({"name": "mine", "reduction": "sum", "from_logits": true, "ignore_class": 3, "axis": -1})");
  EXPECT_EQ(read.name(), "mine");
  EXPECT_EQ(read.reduction(), "sum");
  losses::HuberLoss huber;
  test::expect_error([&] { from_json(huber, R"({"name": "h", "reduction": "often", "delta": 1.0})"); }, {"reduction"});
}

TEST(Losses, RefuseWhatDoesNotFit) {
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

}  // namespace
}  // namespace cohort
