// Callbacks that write state, on parameter servers: one worker takes the same batches as a training without a cluster,
// so everything comes out bit for bit the same.
#include <gtest/gtest.h>

#include <cmath>

#include "cohort/callbacks/early_stopping.h"
#include "cohort/callbacks/learning_rate_scheduler.h"
#include "cohort/callbacks/reduce_lr_on_plateau.h"
#include "cohort/callbacks/swap_ema_weights.h"
#include "cohort/callbacks/throughput.h"
#include "cohort/core/random.h"
#include "cohort/datasets/datasets.h"
#include "cohort/distribute/local_cluster.h"
#include "cohort/distribute/strategies/parameter_server_strategy.h"
#include "cohort/distribute/strategies/partitioners.h"
#include "cohort/layers/core/dense.h"
#include "cohort/model/sequential.h"
#include "cohort/optimizers/sgd.h"

namespace cohort::callbacks {
namespace {

Tensor wave(const Shape& shape, double speed) {
  std::vector<float> values(static_cast<std::size_t>(shape.num_elements()));
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>(std::sin(speed * static_cast<double>(i)));
  return Tensor::of(values, shape);
}

struct TrainedWith {
  std::vector<std::vector<float>> weights;  // of the model and the optimizer
  History history;
};

using MakeCallbacks = std::vector<Ref<Callback>> (*)();

TrainedWith train_with(MakeCallbacks make_callbacks) {
  set_random_seed(3);
  Sequential model({layers::Dense(6, {.activation = "tanh"}), layers::Dense(2)});
  model.compile({.optimizer = optimizers::SGD(0.2, {.use_ema = true, .ema_momentum = 0.9}),
                 .loss = "mse",
                 .steps_per_execution = 2});
  const Tensor x = wave({64, 4}, 0.37), y = wave({64, 2}, 1.1);
  TrainedWith trained;
  trained.history = model.fit(datasets::from_tensor_slices(x, y).repeat().batch(16),
                              {.epochs = 6,
                               .verbose = 0,
                               .validation_data = DataArgument(datasets::from_tensor_slices(x, y).batch(32)),
                               .steps_per_epoch = 4,
                               .callbacks = make_callbacks()});
  Variables variables = model.weights();
  for (const Variable& each : model.optimizer()->variables()) variables.push_back(each);
  for (const Variable& each : variables) trained.weights.push_back(read_now(each).to_vector<float>());
  return trained;
}

void expect_same_on_a_cluster(MakeCallbacks make_callbacks) {
  const TrainedWith local = train_with(make_callbacks);
  distribute::LocalCluster cluster({{"worker", 1}, {"ps", 2}});
  distribute::ParameterServerStrategy strategy(cluster.resolver(),
                                               {.variable_partitioner = distribute::FixedShardsPartitioner(2)});
  auto scope = strategy.scope();
  const TrainedWith remote = train_with(make_callbacks);
  EXPECT_EQ(local.weights, remote.weights);
  ASSERT_EQ(local.history["loss"].size(), remote.history["loss"].size());
  for (const char* key : {"loss", "val_loss"}) {
    for (std::size_t i = 0; i < local.history[key].size(); ++i) {
      EXPECT_NEAR(local.history[key][i], remote.history[key][i], 1e-6) << key << i;
    }
  }
}

TEST(CallbacksOnACluster, EarlyStoppingRestoresTheBestWeights) {
  // Nothing is ever 10 better: it stops after two epochs and goes back to the first.
  const MakeCallbacks make = []() -> std::vector<Ref<Callback>> {
    return {EarlyStopping({.min_delta = 10.0, .patience = 2, .restore_best_weights = true})};
  };
  EXPECT_EQ(train_with(make).history["loss"].size(), 3u);
  expect_same_on_a_cluster(make);
}

TEST(CallbacksOnACluster, SwapEMAWeightsValidatesWithTheAverages) {
  const MakeCallbacks none = []() -> std::vector<Ref<Callback>> { return {}; };
  const MakeCallbacks swapping = []() -> std::vector<Ref<Callback>> { return {SwapEMAWeights()}; };
  EXPECT_NE(train_with(none).history["val_loss"][0], train_with(swapping).history["val_loss"][0]);
  expect_same_on_a_cluster(swapping);
  expect_same_on_a_cluster([]() -> std::vector<Ref<Callback>> { return {SwapEMAWeights({.swap_on_epoch = true})}; });
}

TEST(CallbacksOnACluster, ReduceLROnPlateauReachesTheServers) {
  const MakeCallbacks make = []() -> std::vector<Ref<Callback>> {
    return {ReduceLROnPlateau({.factor = 0.5, .patience = 1, .min_delta = 10.0})};
  };
  EXPECT_NEAR(train_with(make).history["learning_rate"].back(), 0.2 / 16, 1e-6);
  expect_same_on_a_cluster(make);
}

TEST(CallbacksOnACluster, LearningRateSchedulerReachesTheServers) {
  expect_same_on_a_cluster([]() -> std::vector<Ref<Callback>> {
    return {
        LearningRateScheduler([](std::int64_t epoch, double rate) { return epoch % 2 == 0 ? rate / 2 : rate * 1.5; })};
  });
}

TEST(CallbacksOnACluster, ThroughputCountsSteps) {
  distribute::LocalCluster cluster({{"worker", 1}, {"ps", 1}});
  distribute::ParameterServerStrategy strategy(cluster.resolver());
  auto scope = strategy.scope();
  const TrainedWith trained = train_with([]() -> std::vector<Ref<Callback>> { return {Throughput({.verbose = 0})}; });
  EXPECT_EQ(trained.history["steps_per_second"].size(), 6u);
  EXPECT_GT(trained.history["steps_per_second"].back(), 0.0);
}

}  // namespace
}  // namespace cohort::callbacks
