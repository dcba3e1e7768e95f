#include <gtest/gtest.h>

#include "cohort/optimizers/optimizers.h"
#include "tests/model/small_models.h"

namespace cohort {
namespace {

using testing_models::all_weights;
using testing_models::line_x;
using testing_models::line_y;
using testing_models::Linear;
using testing_models::LineByHand;

struct PlainLine {
  PlainLine() : model({make<Linear>()}) {}
  Sequential model;
};

TEST(Fit, EqualsGradientDescentByHand) {
  PlainLine line;
  line.model.compile({.optimizer = optimizers::SGD(0.1), .loss = "mse"});
  const History history =
      line.model.fit(line_x(), line_y(), {.batch_size = 4, .epochs = 3, .verbose = 0, .shuffle = false});

  LineByHand hand;
  const std::vector<float> x = line_x().to_vector<float>(), y = line_y().to_vector<float>();
  ASSERT_EQ(history["loss"].size(), 3u);
  for (int epoch = 0; epoch < 3; ++epoch) {
    float loss = 4 * hand.step(x, y, 0, 4, 0.1f);
    loss += 4 * hand.step(x, y, 4, 8, 0.1f);
    loss += 2 * hand.step(x, y, 8, 10, 0.1f);
    EXPECT_NEAR(history["loss"][static_cast<std::size_t>(epoch)], loss / 10, 1e-5);
  }
  const std::vector<float> weights = all_weights(line.model);
  EXPECT_NEAR(weights[0], hand.w, 1e-5);
  EXPECT_NEAR(weights[1], hand.b, 1e-5);
  EXPECT_EQ(history.epoch(), (std::vector<std::int64_t>{0, 1, 2}));
}

TEST(Fit, StepsPerExecutionChangesNothing) {
  std::vector<std::vector<float>> weights;
  std::vector<std::vector<double>> losses;
  for (std::int64_t steps : {1, 2, 3, 10}) {
    PlainLine line;
    line.model.compile({.optimizer = optimizers::SGD(0.1), .loss = "mse", .steps_per_execution = steps});
    losses.push_back(
        line.model.fit(line_x(), line_y(), {.batch_size = 3, .epochs = 4, .verbose = 0, .shuffle = false})["loss"]);
    weights.push_back(all_weights(line.model));
  }
  for (std::size_t i = 1; i < weights.size(); ++i) {
    EXPECT_EQ(weights[i], weights[0]);
    EXPECT_EQ(losses[i], losses[0]);
  }
}

TEST(Fit, EagerStepsGiveTheSameBits) {
  std::vector<std::vector<float>> weights;
  for (bool eager : {false, true}) {
    PlainLine line;
    line.model.compile({.optimizer = optimizers::Adam(0.1), .loss = "mse", .metrics = {"mae"}, .run_eagerly = eager});
    line.model.fit(line_x(), line_y(), {.batch_size = 4, .epochs = 3, .verbose = 0, .shuffle = false});
    weights.push_back(all_weights(line.model));
  }
  EXPECT_EQ(weights[0], weights[1]);
}

TEST(Fit, ValidatesOnTheLastPart) {
  PlainLine line;
  line.model.compile({.optimizer = optimizers::SGD(0.1), .loss = "mse", .metrics = {"mae"}});
  const History history = line.model.fit(
      line_x(), line_y(),
      {.batch_size = 4, .epochs = 4, .verbose = 0, .validation_split = 0.3, .shuffle = false, .validation_freq = 2});
  EXPECT_EQ(history["loss"].size(), 4u);
  EXPECT_EQ(history["val_loss"].size(), 2u);
  std::vector<std::string> names;
  for (const auto& [name, values] : history.history()) names.push_back(name);
  EXPECT_EQ(names, (std::vector<std::string>{"loss", "mae", "val_loss", "val_mae"}));
  const Logs again = line.model.evaluate(line_x().to_host().rows(7, 3), line_y().to_host().rows(7, 3), {.verbose = 0});
  EXPECT_NEAR(again["loss"], history["val_loss"].back(), 1e-6);
}

TEST(Fit, WeighsSamplesAndClasses) {
  const std::vector<float> x = line_x().to_vector<float>();
  std::vector<float> y, weights;
  for (std::size_t i = 0; i < 10; ++i) {
    y.push_back(i % 2 ? 1.0f : 0.0f);
    weights.push_back(i % 2 ? 3.0f : 0.5f);
  }
  LineByHand hand;
  for (int epoch = 0; epoch < 2; ++epoch) {
    hand.step(x, y, 0, 5, 0.1f, weights);
    hand.step(x, y, 5, 10, 0.1f, weights);
  }
  const Tensor targets = Tensor::of(y, {10, 1});
  for (bool by_class : {false, true}) {
    PlainLine line;
    line.model.compile({.optimizer = optimizers::SGD(0.1), .loss = "mse"});
    FitOptions options{.batch_size = 5, .epochs = 2, .verbose = 0, .shuffle = false};
    if (by_class) {
      options.class_weight = {{0, 0.5}, {1, 3.0}};
    } else {
      options.sample_weight = Tensor::of(weights, {10});
    }
    line.model.fit(line_x(), targets, options);
    EXPECT_NEAR(all_weights(line.model)[0], hand.w, 1e-5);
    EXPECT_NEAR(all_weights(line.model)[1], hand.b, 1e-5);
  }
}

TEST(Fit, BeginsAtTheInitialEpoch) {
  PlainLine line;
  line.model.compile({.optimizer = "sgd", .loss = "mse"});
  const History history = line.model.fit(line_x(), line_y(), {.epochs = 5, .verbose = 0, .initial_epoch = 3});
  EXPECT_EQ(history.epoch(), (std::vector<std::int64_t>{3, 4}));
}

TEST(Fit, GoesOnInTheDataWithStepsPerEpoch) {
  const Dataset data = Dataset::make(
      "tensor_slices", {}, {{"structure", "(**)"}, {"tensor_0", line_x().to_host()}, {"tensor_1", line_y().to_host()}});
  PlainLine line, whole;
  line.model.compile({.optimizer = optimizers::SGD(0.1), .loss = "mse"});
  whole.model.compile({.optimizer = optimizers::SGD(0.1), .loss = "mse"});
  line.model.fit(data.batch(2).repeat(), {.epochs = 5, .verbose = 0, .steps_per_epoch = 3});
  whole.model.fit(data.batch(2), {.epochs = 3, .verbose = 0});
  EXPECT_EQ(all_weights(line.model), all_weights(whole.model));
}

TEST(Fit, TakesADatasetCreator) {
  const std::vector<float> labels = {0, 1, 0, 1, 0, 1, 0, 1, 0, 1};
  const Tensor y = Tensor::of(labels, {10, 1});
  const DatasetCreator creator([&](const InputContext& context) {
    EXPECT_EQ(context.num_input_pipelines, 1);
    return Dataset::make("tensor_slices", {},
                         {{"structure", "(**)"}, {"tensor_0", line_x().to_host()}, {"tensor_1", y.to_host()}})
        .batch(context.get_per_replica_batch_size(5));
  });
  PlainLine line, plain;
  line.model.compile({.optimizer = optimizers::SGD(0.1), .loss = "mse"});
  plain.model.compile({.optimizer = optimizers::SGD(0.1), .loss = "mse"});
  line.model.fit(creator, {.epochs = 2, .verbose = 0, .class_weight = {{1, 3.0}}});
  plain.model.fit(line_x(), y,
                  {.batch_size = 5, .epochs = 2, .verbose = 0, .shuffle = false, .class_weight = {{1, 3.0}}});
  EXPECT_EQ(all_weights(line.model), all_weights(plain.model));
  EXPECT_THROW(line.model.fit(creator, {.verbose = 0, .sample_weight = y}), Error);
}

TEST(Fit, OneBatchAtATime) {
  PlainLine line, fitted;
  line.model.compile({.optimizer = optimizers::SGD(0.1), .loss = "mse", .metrics = {"mae"}});
  fitted.model.compile({.optimizer = optimizers::SGD(0.1), .loss = "mse", .metrics = {"mae"}});
  Logs logs;
  for (int i = 0; i < 3; ++i) logs = line.model.train_on_batch(line_x(), line_y());
  const History history =
      fitted.model.fit(line_x(), line_y(), {.batch_size = 10, .epochs = 3, .verbose = 0, .shuffle = false});
  EXPECT_EQ(all_weights(line.model), all_weights(fitted.model));
  EXPECT_EQ(logs.begin()->first, "loss");
  // As Keras 3.15: the figures of this batch, nothing of earlier ones.
  EXPECT_NEAR(logs["loss"], history["loss"][2], 1e-6);
  const Logs test = line.model.test_on_batch(line_x(), line_y());
  EXPECT_NEAR(test["loss"], fitted.model.evaluate(line_x(), line_y(), {.verbose = 0})["loss"], 1e-6);
  EXPECT_EQ(line.model.predict_on_batch(line_x()).to_vector<float>(),
            fitted.model.predict(line_x(), {.batch_size = 10, .verbose = 0}).to_vector<float>());
}

TEST(Predict, JoinsBatches) {
  PlainLine line;
  line.model.compile({.optimizer = "sgd", .loss = "mse"});
  line.model.fit(line_x(), line_y(), {.epochs = 2, .verbose = 0});
  const Tensor direct = line.model(line_x());
  for (std::int64_t batch_size : {1, 3, 10, 64}) {
    const Tensor predicted = line.model.predict(line_x(), {.batch_size = batch_size, .verbose = 0});
    EXPECT_EQ(predicted.shape(), (Shape{10, 1}));
    EXPECT_EQ(predicted.to_vector<float>(), direct.to_vector<float>());
  }
}

}  // namespace
}  // namespace cohort
