// Workers of a parameter-server cluster that have several devices each, beside the same training on one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "cohort/cohort.h"
#include "cohort/distribute/cluster/local_cluster_spec.h"
#include "tests/support/error_of.h"
#include "tests/support/in_step_jobs.h"

namespace cohort::distribute {
namespace {

using cohort::test::error_of;
using cohort::test::expect_near;
using cohort::test::in_step_jobs;
using cohort::test::InStepJob;
using cohort::test::train_in_step;
using cohort::test::TrainedInStep;
using cohort::test::values_of;
using cohort::test::waves;
using cohort::test::WeightValues;
using testing::AllOf;
using testing::HasSubstr;

std::vector<std::string> devices(int count, const std::string& type = "CPU:") {
  std::vector<std::string> names;
  for (int i = 0; i < count; ++i) names.push_back(type + std::to_string(i));
  return names;
}

// What a training leaves on one worker with these devices.
template <class Train>
auto on_one_worker(const std::vector<std::string>& devices, const Train& train) {
  const LocalCluster cluster({{"worker", 1}, {"ps", 2}}, {.devices = devices});
  const ParameterServerStrategy strategy(cluster.resolver());
  auto scope = strategy.scope();
  return train();
}

// Every step adds the sum of its batch to the weight, whatever the order of steps: whole numbers, hence exactly.
class Adding {
 public:
  Adding() : model({layers::Dense(1, {.use_bias = false, .kernel_initializer = "zeros"})}) {
    model.compile({.optimizer = optimizers::SGD(1.0),
                   .loss = losses::MeanAbsoluteError({.reduction = "sum"}),
                   .metrics = {"mae"},
                   .steps_per_execution = 3});
  }
  static Dataset numbers(std::int64_t count, std::int64_t batch) {
    std::vector<float> values(static_cast<std::size_t>(count));
    std::iota(values.begin(), values.end(), 1.0f);
    return datasets::from_tensor_slices(Tensor::of(values, {count, 1}), Tensor::full({count, 1}, 1e9)).batch(batch);
  }
  float weight() const { return values_of(model)[0][0]; }

  Sequential model;
};

class OnDevices : public testing::TestWithParam<const char*> {
 protected:
  LocalCluster cluster_{{{"worker", 2}, {"ps", 2}}, {.transport = GetParam(), .devices = devices(2)}};
  ParameterServerStrategy strategy_{cluster_.resolver(), {.transport = GetParam()}};
  StrategyScope scope_{strategy_.body()};
};

// Batches of 5 on two devices, and a last one of 1, for which one of them has no row.
TEST_P(OnDevices, EverySampleCountsOnce) {
  Adding adding;
  adding.model.fit(Adding::numbers(101, 5), {.epochs = 4, .verbose = 0});
  EXPECT_EQ(adding.weight(), 4.0f * 101 * 102 / 2);
  EXPECT_EQ(read_now(adding.model.optimizer()->iterations()).item<std::int64_t>(), 4 * 21);
}

TEST_P(OnDevices, SaysHowManyReplicasAWorkerHas) {
  EXPECT_EQ(strategy_.num_replicas_in_sync(), 2);
  std::vector<std::int64_t> seen;
  Adding adding;
  adding.model.fit(DatasetCreator([&](const InputContext& context) {
                     seen = {context.num_input_pipelines, context.num_replicas_in_sync};
                     return Adding::numbers(8, context.get_per_replica_batch_size(4));
                   }),
                   {.verbose = 0});
  EXPECT_EQ(seen, (std::vector<std::int64_t>{2, 2}));
  EXPECT_EQ(adding.weight(), 2.0f * 36);  // both pipelines have all of it
  EXPECT_EQ(read_now(adding.model.optimizer()->iterations()).item<std::int64_t>(), 2 * 2);
}

// As tf.distribute's users write it.
TEST_P(OnDevices, ALoopOfOnesOwnRunsOnAllDevices) {
  Adding adding;
  adding.model.build({1, 1});
  ClusterCoordinator coordinator(strategy_);
  auto iterator = coordinator.create_per_worker_dataset(Adding::numbers(23, 5)).iterator();
  const auto on_replica = [&](const Tensor& x, const Tensor&) {
    GradientTape tape;
    const Tensor loss = -ops::sum(adding.model(x, {.training = true}));
    adding.model.optimizer()->apply(tape.gradient(loss, adding.model.trainable_variables()),
                                    adding.model.trainable_variables());
    return ops::sum(x);
  };
  const Function step = function([&](Iterator data) {
    auto [x, y] = data.next<2>();
    return strategy_.reduce(ReduceOp::Sum, strategy_.run(on_replica, x, y));
  });
  std::vector<RemoteValue> sums;
  for (int i = 0; i < 5; ++i) sums.push_back(coordinator.schedule(step, {iterator}));
  float total = 0.0f;
  for (const Results& sum : coordinator.fetch(sums)) total += sum.at(0).item<float>();
  EXPECT_EQ(total, 23.0f * 24 / 2);
  EXPECT_EQ(adding.weight(), 23.0f * 24 / 2);
}

// Without run() a function is one device's.
TEST_P(OnDevices, AFunctionWithoutReplicasSeesWholeElements) {
  ClusterCoordinator coordinator(strategy_);
  auto iterator = coordinator.create_per_worker_dataset(Adding::numbers(10, 5)).iterator();
  const Function rows = function([](Iterator data) { return ops::sum(data.next<2>()[0]); });
  std::vector<float> sums;
  for (int i = 0; i < 2; ++i) sums.push_back(Tensor(coordinator.schedule(rows, {iterator}).fetch()).item<float>());
  std::sort(sums.begin(), sums.end());
  EXPECT_EQ(sums, (std::vector<float>{15.0f, 40.0f}));
}

TEST_P(OnDevices, WhatDiffersBetweenDevicesIsRefused) {
  Variable total(Tensor::scalar(0.0), {.aggregation = Aggregation::Sum});
  ClusterCoordinator coordinator(strategy_);
  auto iterator = coordinator.create_per_worker_dataset(Adding::numbers(10, 5)).iterator();
  const auto sum = [](const Tensor& x) { return ops::sum(x) * get_replica_context()->loss_share(); };
  const Function writes = function([&](Iterator data) {
    const PerReplica parts = strategy_.run(sum, data.next<2>()[0]);
    total.assign_add(strategy_.experimental_local_results(parts)[0]);
    return Tensor::scalar(0.0);
  });
  EXPECT_THAT(error_of([&] { coordinator.schedule(writes, {iterator}); }),
              AllOf(HasSubstr("FailedPrecondition ParameterServerStrategy: what a worker's devices send to a ps"),
                    HasSubstr("devices=2")));
  const Function returns = function(
      [&](Iterator data) { return strategy_.experimental_local_results(strategy_.run(sum, data.next<2>()[0]))[0]; });
  EXPECT_THAT(error_of([&] { coordinator.schedule(returns, {iterator}); }),
              HasSubstr("FailedPrecondition ClusterCoordinator: a function that is run in step must return reduced"));
  EXPECT_THAT(
      error_of([&] { strategy_.run(sum, Tensor::scalar(1.0)); }),
      HasSubstr("FailedPrecondition ParameterServerStrategy.run: workers' devices run code inside of functions"));
}

// One that fails does not leave the others waiting, and the worker goes on.
TEST_P(OnDevices, AnErrorOnOneDeviceIsTheStepsError) {
  Sequential model({layers::Embedding(4, 2), layers::Flatten(), layers::Dense(1)});
  model.compile({.optimizer = "sgd", .loss = "mse"});
  const auto batch = [](std::int64_t last) {
    return datasets::from_tensor_slices(Tensor::of<std::int64_t>({0, 1, 2, last}, {4, 1}), Tensor::full({4, 1}, 1.0))
        .batch(4);
  };
  EXPECT_THAT(error_of([&] { model.fit(batch(9), {.verbose = 0}); }), HasSubstr("worker:"));
  EXPECT_EQ(error_of([&] { model.fit(batch(3), {.verbose = 0}); }), "");
}

INSTANTIATE_TEST_SUITE_P(Transports, OnDevices, testing::Values("auto", "grpc"));

class DevicesOfAWorker : public testing::TestWithParam<std::vector<std::string>> {};

TEST_P(DevicesOfAWorker, TrainAsOneOnTheWholeBatch) {
  for (const InStepJob& job : in_step_jobs()) {
    SCOPED_TRACE(job.name);
    const auto train = [&] { return train_in_step(job, "adam"); };
    expect_near(on_one_worker(GetParam(), train), on_one_worker({}, train), 2e-4);
  }
}

TEST_P(DevicesOfAWorker, TrainTwiceToTheSameBits) {
  const std::vector<InStepJob> all = in_step_jobs();
  const auto train = [&] { return train_in_step(all[0], "adam").weights; };
  EXPECT_EQ(on_one_worker(GetParam(), train), on_one_worker(GetParam(), train));
}

TEST_P(DevicesOfAWorker, PredictAndEvaluateWholeBatches) {
  const auto run = [] {
    set_random_seed(3);
    Sequential model({layers::Dense(4, {.activation = "relu"}), layers::BatchNormalization(), layers::Dense(2)});
    model.compile({.optimizer = "sgd", .loss = "mse", .metrics = {"mae"}});
    const Dataset data = datasets::from_tensor_slices(waves({13, 3}), waves({13, 2}, 5)).batch(4);
    const Logs figures = model.evaluate(data, {.verbose = 0});
    return std::tuple(model.predict(data, {.verbose = 0}).to_vector<float>(), *figures.find("mae"),
                      *figures.find("loss"));
  };
  const auto [outputs, error, loss] = on_one_worker({}, run);
  const auto [divided, divided_error, divided_loss] = on_one_worker(GetParam(), run);
  EXPECT_THAT(divided, testing::Pointwise(testing::FloatNear(1e-6f), outputs));
  EXPECT_NEAR(divided_error, error, 1e-6);
  EXPECT_NEAR(divided_loss, loss, 1e-6);
}

// A creator's batches are those of one device: with more of them a worker takes as many at once.
TEST_P(DevicesOfAWorker, TakeABatchEachOfACreator) {
  const auto run = [] {
    set_random_seed(3);
    Sequential model({layers::Dense(4, {.activation = "tanh"}), layers::Dropout(0.3), layers::Dense(2)});
    model.compile({.optimizer = "adam", .loss = "mse", .steps_per_execution = 2});
    model.fit(DatasetCreator([](const InputContext& context) {
                return datasets::from_tensor_slices(waves({60, 3}), waves({60, 2}, 5))
                    .repeat()
                    .batch(context.get_per_replica_batch_size(12))
                    .prefetch(2);
              }),
              {.epochs = 2, .verbose = 0, .steps_per_epoch = 7});
    return TrainedInStep{values_of(model), {}};
  };
  expect_near(on_one_worker(GetParam(), run), on_one_worker({}, run), 1e-4);
}

// The chief is one device, which computes what all of a worker's do.
TEST_P(DevicesOfAWorker, BatchesGivenOneByOneTrainAsHere) {
  const auto run = [] {
    set_random_seed(3);
    Sequential model({layers::Dense(4), layers::BatchNormalization(), layers::Dense(2)});
    model.compile({.optimizer = "sgd", .loss = "mse"});
    TrainedInStep result;
    for (int i = 0; i < 3; ++i) {
      const Logs logs = model.train_on_batch(waves({6, 3}, 7 + i), waves({6, 2}, 5));
      result.history["loss"].push_back(*logs.find("loss"));
    }
    result.weights = values_of(model);
    return result;
  };
  expect_near(on_one_worker(GetParam(), run), on_one_worker({}, run), 1e-5);
}

INSTANTIATE_TEST_SUITE_P(Each, DevicesOfAWorker,
                         testing::Values(devices(2), devices(3), devices(4), devices(2, "TEST:"),
                                         std::vector<std::string>{"CPU:0", "TEST:1"}),
                         [](const auto& info) {
                           std::string name;
                           for (const std::string& device : info.param) name += device.substr(0, device.find(':'));
                           return name;
                         });

TEST(WorkerDevices, AsManyAreExpectedOnEveryWorker) {
  const ClusterSpec spec = local_cluster_spec({{"worker", 2}, {"ps", 1}});
  const Server ps(spec, {.job_name = "ps", .task_index = 0});
  const Server two(spec, {.job_name = "worker", .task_index = 0, .devices = devices(2)});
  const Server three(spec, {.job_name = "worker", .task_index = 1, .devices = devices(3)});
  EXPECT_EQ(error_of([&] { ParameterServerStrategy{SimpleClusterResolver(spec)}; }),
            "FailedPrecondition ParameterServerStrategy: every worker must have as many devices. Received: worker:1=3, "
            "other workers=2. Give each the same number of them: cohort server --devices, ServerOptions::devices.");
}

TEST(WorkerDevices, EachIsListedOnce) {
  EXPECT_EQ(
      error_of([] {
        LocalCluster({{"worker", 1}, {"ps", 1}}, {.devices = {"CPU:1", "cpu:1"}});
      }),
      "InvalidArgument worker:0: each device may be listed once. Received: devices=CPU:1, cpu:1. A device computes "
      "for one replica.");
}

}  // namespace
}  // namespace cohort::distribute
