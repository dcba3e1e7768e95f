// fit, evaluate and predict on a cluster beside the same without one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "cohort/cohort.h"
#include "tests/distribute/strategies/trained_weights.h"
#include "tests/support/same_products.h"

namespace cohort::distribute {
namespace {

using cohort::test::values_of;

Tensor ramp(const Shape& shape) {
  std::vector<float> values(static_cast<std::size_t>(shape.num_elements()));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 97) / 97.0f - 0.5f;
  return Tensor::of(values, shape);
}

Dataset examples(std::int64_t count, std::int64_t batch) {
  return datasets::from_tensor_slices(ramp({count, 6}), ramp({count, 2})).batch(batch);
}

// w += learning rate with every step, whatever the order.
Dataset ones() { return datasets::from_tensor_slices(Tensor::full({4, 1}, 1.0), Tensor::full({4, 1}, 1e6)).batch(4); }
Sequential counting_model() {
  return Sequential({layers::Dense(1, {.use_bias = false, .kernel_initializer = "zeros"})});
}

class ClusterTraining : public testing::TestWithParam<const char*> {
 protected:
  ParameterServerStrategy lead(const LocalCluster& cluster) const {
    return ParameterServerStrategy(cluster.resolver(), {.transport = GetParam()});
  }
  std::string folder(const std::string& name) const {
    const auto path = std::filesystem::path(testing::TempDir()) /
                      ("cluster_training_" + name + "_" + GetParam() + "_" + std::to_string(::getpid()));
    std::filesystem::create_directories(path);
    return path.string();
  }
  LocalCluster cluster_{{{"worker", 3}, {"ps", 2}}, {.transport = GetParam()}};
};

// One worker gives the figures and weights of a training without a cluster, also in a second fit, with validation, and
// with an epoch's last execution shorter than the others.
TEST_P(ClusterTraining, OneWorkerHasTheSameHistory) {
  const auto run = [] {
    set_random_seed(11);
    Sequential model({layers::Dense(5, {.activation = "tanh"}), layers::Dropout(0.2), layers::Dense(2)});
    model.compile({.optimizer = "adam", .loss = "mse", .metrics = {"mae"}, .steps_per_execution = 4});
    const Dataset data = examples(90, 9).shuffle(10, {.seed = 1}).repeat(2);
    History first = model.fit(data, {.epochs = 2, .verbose = 0, .validation_data = examples(25, 10)});
    History second = model.fit(
        data,
        {.epochs = 3, .verbose = 0, .validation_data = examples(25, 10), .initial_epoch = 1, .validation_freq = 2});
    return std::tuple(first, second, values_of(model));
  };
  const auto [first, second, weights] = run();
  LocalCluster one({{"worker", 1}, {"ps", 2}}, {.transport = GetParam()});
  const ParameterServerStrategy strategy = lead(one);
  auto scope = strategy.scope();
  const auto [cluster_first, cluster_second, cluster_weights] = run();
  cohort::test::expect_same_training(weights, cluster_weights);
  for (const auto& [local, remote] : {std::pair(first, cluster_first), std::pair(second, cluster_second)}) {
    EXPECT_EQ(local.epoch(), remote.epoch());
    ASSERT_EQ(local.history().size(), remote.history().size());
    for (const auto& [name, figures] : local.history()) {
      const std::vector<double>& others = remote[name];
      ASSERT_EQ(figures.size(), others.size()) << name;
      for (std::size_t i = 0; i < figures.size(); ++i) EXPECT_NEAR(figures[i], others[i], 1e-6) << name;
    }
    EXPECT_EQ(local.params().steps, remote.params().steps);
  }
}

TEST_P(ClusterTraining, BatchesGivenOneByOneTrainAsHere) {
  const auto run = [] {
    set_random_seed(11);
    Sequential model({layers::Dense(5, {.activation = "tanh"}), layers::Dropout(0.2), layers::Dense(2)});
    model.compile({.optimizer = "adam", .loss = "mse", .metrics = {"mae"}});
    std::vector<float> figures;
    for (int i = 0; i < 3; ++i) {
      for (const auto& [name, value] : model.train_on_batch(ramp({9, 6}), ramp({9, 2}))) {
        figures.push_back(static_cast<float>(value));
      }
    }
    figures.push_back(static_cast<float>(model.test_on_batch(ramp({9, 6}), ramp({9, 2}))["loss"]));
    return std::tuple(figures, model.predict_on_batch(ramp({9, 6})).to_vector<float>(), values_of(model));
  };
  const auto local = run();
  const ParameterServerStrategy strategy = lead(cluster_);
  auto scope = strategy.scope();
  const auto remote = run();
  cohort::test::expect_same_training(std::get<0>(remote), std::get<0>(local));
  cohort::test::expect_same_training(std::get<1>(remote), std::get<1>(local));
  cohort::test::expect_same_training(std::get<2>(remote), std::get<2>(local));
}

TEST_P(ClusterTraining, EvaluateAndPredictAreThoseOfALocalModel) {
  set_random_seed(3);
  Sequential local({layers::Dense(8, {.activation = "relu"}), layers::Dense(2)});
  local.compile({.optimizer = "sgd", .loss = "mse", .metrics = {"mae"}, .steps_per_execution = 2});
  local.build({kUnknown, 6});
  const ParameterServerStrategy strategy = lead(cluster_);
  auto scope = strategy.scope();
  Sequential model({layers::Dense(8, {.activation = "relu"}), layers::Dense(2)});
  model.compile({.optimizer = "sgd", .loss = "mse", .metrics = {"mae"}, .steps_per_execution = 2});
  model.build({kUnknown, 6});
  model.set_weights(local.get_weights());
  for (const std::int64_t batch : {7, 100, 3}) {
    const Logs expected = local.evaluate(examples(101, batch), {.verbose = 0});
    const Logs got = model.evaluate(examples(101, batch), {.verbose = 0});
    EXPECT_NEAR(got.at("loss"), expected.at("loss"), 1e-6);
    EXPECT_NEAR(got.at("mae"), expected.at("mae"), 1e-6);
    const Dataset inputs = datasets::from_tensor_slices(ramp({101, 6})).batch(batch);
    EXPECT_EQ(model.predict(inputs, {.verbose = 0}).to_vector<float>(),
              local.predict(inputs, {.verbose = 0}).to_vector<float>());
    EXPECT_EQ(model.predict(inputs, {.verbose = 0, .steps = 1}).shape()[0], std::min<std::int64_t>(batch, 101));
  }
}

// Many small executions, which workers take at their own pace.
TEST_P(ClusterTraining, OutputsComeInTheOrderOfTheirInputs) {
  const ParameterServerStrategy strategy = lead(cluster_);
  auto scope = strategy.scope();
  Sequential model({layers::Rescaling(2.0)});
  std::vector<float> numbers(1000), doubled;
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(i);
  for (const float number : numbers) doubled.push_back(2.0f * number);
  const Dataset data = datasets::from_tensor_slices(Tensor::of(numbers, {1000, 1})).batch(3);
  for (int round = 0; round < 3; ++round) {
    EXPECT_EQ(model.predict(data, {.verbose = 0}).to_vector<float>(), doubled);
    EXPECT_EQ(model.predict(data.repeat(), {.verbose = 0, .steps = 100}).to_vector<float>(),
              std::vector<float>(doubled.begin(), doubled.begin() + 300));
  }
}

TEST_P(ClusterTraining, ShardsOfUnequalLengthAreAllTrainedOn) {
  const ParameterServerStrategy strategy = lead(cluster_);
  auto scope = strategy.scope();
  Sequential model = counting_model();
  model.compile({.optimizer = optimizers::SGD(1.0), .loss = "mae", .steps_per_execution = 4});
  // 1, 10 and 19 batches.
  const DatasetCreator creator(
      [](const InputContext& context) { return ones().repeat(1 + 9 * context.input_pipeline_id); });
  model.fit(creator, {.epochs = 4, .verbose = 0});
  EXPECT_EQ(read_now(model.optimizer()->iterations()).item<std::int64_t>(), 120);
  EXPECT_EQ(model.get_weights()[0].item<float>(), 120.0f);
  // An epoch of given length goes on where the last one stopped, until all is used up.
  model.fit(creator, {.epochs = 3, .verbose = 0, .steps_per_epoch = 10});
  EXPECT_EQ(model.get_weights()[0].item<float>(), 150.0f);
}

// Whichever workers walk a shuffled pipeline, they agree on its order: w grows by every element, once.
TEST_P(ClusterTraining, EveryElementIsSeenOnceInEveryEpoch) {
  const ParameterServerStrategy strategy = lead(cluster_);
  auto scope = strategy.scope();
  Sequential model = counting_model();
  model.compile({.optimizer = optimizers::SGD(1.0), .loss = "mae", .steps_per_execution = 3});
  std::vector<float> numbers(50);
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(i * i);
  const Dataset data = datasets::from_tensor_slices(Tensor::of(numbers, {50, 1}), Tensor::full({50, 1}, 1e9))
                           .shuffle(50)
                           .repeat(2)
                           .batch(1);
  std::vector<float> after;
  model.fit(
      data.prefetch(2),
      {.epochs = 5, .verbose = 0, .callbacks = {callbacks::LambdaCallback({.on_epoch_end = [&](std::int64_t, Logs&) {
                                    after.push_back(model.get_weights()[0].item<float>());
                                  }})}});
  const float once = 2.0f * 40425.0f;
  EXPECT_THAT(after, testing::ElementsAre(once, 2 * once, 3 * once, 4 * once, 5 * once));
}

TEST_P(ClusterTraining, AnEpochHasExactlyItsSteps) {
  const ParameterServerStrategy strategy = lead(cluster_);
  auto scope = strategy.scope();
  for (const std::int64_t steps_per_execution : {1, 4, 50}) {
    Sequential model = counting_model();
    model.compile({.optimizer = optimizers::SGD(1.0), .loss = "mae", .steps_per_execution = steps_per_execution});
    std::vector<float> after;
    model.fit(ones().repeat(), {.epochs = 3,
                                .verbose = 0,
                                .steps_per_epoch = 23,
                                .callbacks = {callbacks::LambdaCallback({.on_epoch_end = [&](std::int64_t, Logs&) {
                                  after.push_back(model.get_weights()[0].item<float>());
                                }})}});
    EXPECT_THAT(after, testing::ElementsAre(23, 46, 69)) << steps_per_execution;
  }
}

TEST_P(ClusterTraining, ALearningRateSetByACallbackHoldsFromThenOn) {
  const ParameterServerStrategy strategy = lead(cluster_);
  auto scope = strategy.scope();
  Sequential model = counting_model();
  model.compile({.optimizer = optimizers::SGD(1.0), .loss = "mae", .steps_per_execution = 2});
  model.fit(ones().repeat(), {.epochs = 4,
                              .verbose = 0,
                              .steps_per_epoch = 10,
                              .callbacks = {callbacks::LearningRateScheduler(
                                  [](std::int64_t epoch, double) { return static_cast<double>(1 << epoch); })}});
  EXPECT_EQ(model.get_weights()[0].item<float>(), 150.0f);
  EXPECT_EQ(model.optimizer()->learning_rate(), 8.0);
}

TEST_P(ClusterTraining, CallbacksRunOnTheChief) {
  const std::string where = folder("callbacks");
  const ParameterServerStrategy strategy = lead(cluster_);
  auto scope = strategy.scope();
  Sequential model({layers::Dense(4, {.activation = "relu"}), layers::Dense(2)});
  model.compile({.optimizer = "adam", .loss = "mse", .metrics = {"mae"}, .steps_per_execution = 3});
  model.fit(examples(60, 10), {.epochs = 2,
                               .verbose = 0,
                               .validation_data = examples(20, 10),
                               .callbacks = {callbacks::TensorBoard({.log_dir = where + "/logs"}),
                                             callbacks::ModelCheckpoint(where + "/{epoch:02d}.keras")}});
  EXPECT_TRUE(std::filesystem::exists(where + "/01.keras"));
  EXPECT_TRUE(std::filesystem::is_directory(where + "/logs/train"));
  EXPECT_TRUE(std::filesystem::is_directory(where + "/logs/validation"));
  const Dataset inputs = datasets::from_tensor_slices(ramp({30, 6})).batch(8);
  const std::vector<float> predicted = model.predict(inputs, {.verbose = 0}).to_vector<float>();
  model.save(where + "/model.keras");
  // Read by somebody without a cluster.
  const StrategyScope nowhere(nullptr);
  for (const char* name : {"/model.keras", "/02.keras"}) {
    const Ref<Model> opened = load_model(where + name);
    EXPECT_EQ(opened->predict(inputs, {.verbose = 0}).to_vector<float>(), predicted) << name;
    EXPECT_EQ(read_now(opened->optimizer()->iterations()).item<std::int64_t>(), 12);
  }
  std::filesystem::remove_all(where);
}

TEST_P(ClusterTraining, StoppingEarlyLeavesNothingUnderWay) {
  const ParameterServerStrategy strategy = lead(cluster_);
  auto scope = strategy.scope();
  Sequential model = counting_model();
  model.compile({.optimizer = optimizers::SGD(1.0), .loss = "mae"});
  model.fit(ones().repeat(),
            {.epochs = 5,
             .verbose = 0,
             .steps_per_epoch = 200,
             .callbacks = {callbacks::LambdaCallback({.on_train_batch_end = [&](std::int64_t batch, Logs&) {
               if (batch >= 20) model.stop_training = true;
             }})}});
  const float steps = model.get_weights()[0].item<float>();
  EXPECT_GE(steps, 1.0f);
  EXPECT_LE(steps, 200.0f);
  EXPECT_EQ(static_cast<float>(read_now(model.optimizer()->iterations()).item<std::int64_t>()), steps);
  EXPECT_EQ(model.get_weights()[0].item<float>(), steps);
}

INSTANTIATE_TEST_SUITE_P(Transports, ClusterTraining, testing::Values("auto", "grpc"));

}  // namespace
}  // namespace cohort::distribute
