// Replicas in step on devices of one process, beside the same training on one device.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cohort/cohort.h"
#include "tests/support/error_of.h"
#include "tests/support/in_step_jobs.h"
#include "tests/support/in_step_strategies.h"

namespace cohort::distribute {
namespace {

using cohort::test::cpus;
using cohort::test::expect_near;
using cohort::test::in_step_jobs;
using cohort::test::in_step_on;
using cohort::test::InStep;
using cohort::test::InStepJob;
using cohort::test::train_in_step;
using cohort::test::TrainedInStep;
using cohort::test::values_of;
using cohort::test::waves;

class ReplicasInStep : public testing::TestWithParam<std::tuple<InStep, int>> {
 protected:
  static StrategyHandle make() { return in_step_on(std::get<0>(GetParam()), std::get<1>(GetParam())); }
};

TEST_P(ReplicasInStep, TrainAsOneDeviceOnTheWholeBatch) {
  for (const InStepJob& job : in_step_jobs()) {
    SCOPED_TRACE(job.name);
    for (const char* optimizer : {"sgd", "adam"}) {
      SCOPED_TRACE(optimizer);
      const TrainedInStep alone = train_in_step(job, optimizer);
      const StrategyHandle strategy = make();
      auto scope = strategy.scope();
      expect_near(train_in_step(job, optimizer), alone, 2e-4);
    }
  }
}

TEST_P(ReplicasInStep, TrainTwiceToTheSameBits) {
  const std::vector<InStepJob> all = in_step_jobs();
  const auto run = [&] {
    const StrategyHandle strategy = make();
    auto scope = strategy.scope();
    return train_in_step(all[2], "adam").weights;
  };
  EXPECT_EQ(run(), run());
}

TEST_P(ReplicasInStep, TrainLineByLineAsTraced) {
  const std::vector<InStepJob> all = in_step_jobs();
  const StrategyHandle strategy = make();
  auto scope = strategy.scope();
  expect_near(train_in_step(all[2], "adam", true), train_in_step(all[2], "adam"), 1e-5);
}

TEST_P(ReplicasInStep, PredictAndEvaluateWholeBatches) {
  const auto run = [] {
    set_random_seed(3);
    Sequential model({layers::Dense(4, {.activation = "relu"}), layers::BatchNormalization(), layers::Dense(2)});
    model.compile({.optimizer = "sgd", .loss = "mse", .metrics = {"mae"}});
    const Dataset data = datasets::from_tensor_slices(waves({11, 3}), waves({11, 2}, 5)).batch(4);
    const Logs figures = model.evaluate(data, {.verbose = 0});
    return std::pair(model.predict(data, {.verbose = 0}).to_vector<float>(), *figures.find("mae"));
  };
  const auto alone = run();
  const StrategyHandle strategy = make();
  auto scope = strategy.scope();
  const auto mirrored = run();
  EXPECT_THAT(mirrored.first, testing::Pointwise(testing::FloatNear(1e-6f), alone.first));
  EXPECT_NEAR(mirrored.second, alone.second, 1e-6);
}

INSTANTIATE_TEST_SUITE_P(OfAnyNumber, ReplicasInStep,
                         testing::Combine(testing::Values(InStep::Mirrored, InStep::CentralStorage),
                                          testing::Values(1, 2, 3, 4)),
                         [](const auto& info) {
                           return cohort::test::name_of(std::get<0>(info.param)) +
                                  std::to_string(std::get<1>(info.param));
                         });

TEST(MirroredStrategy, SaysHowManyReplicasThereAre) {
  EXPECT_EQ(MirroredStrategy(cpus(3)).num_replicas_in_sync(), 3);
  EXPECT_EQ(MirroredStrategy(cpus(1)).num_replicas_in_sync(), 1);
}

TEST(MirroredStrategy, RefusesADeviceThatIsListedTwice) {
  EXPECT_EQ(cohort::test::error_of([] {
              MirroredStrategy({"CPU:0", "cpu:0"});
            }),
            "InvalidArgument MirroredStrategy: each device may be listed once. Received: devices=CPU:0, cpu:0. A "
            "device computes for one "
            "replica.");
}

TEST(MirroredStrategy, RefusesDevicesThatAreNotThere) {
  EXPECT_THAT(cohort::test::error_of([] {
                MirroredStrategy({"CPU:0", "NPU:1"});
              }),
              testing::HasSubstr("a device of this machine is expected"));
  EXPECT_THAT(cohort::test::error_of([] { MirroredStrategy({"CPU:x"}); }),
              testing::HasSubstr("a device is TYPE or TYPE:INDEX"));
  EXPECT_THAT(cohort::test::error_of([] {
                MirroredStrategy({"TEST:0", "test:0"});
              }),
              testing::HasSubstr("each device may be listed once"));
}

class TwoReplicasInStep : public testing::TestWithParam<InStep> {};

// What a callback writes reaches every replica, whose next update starts from it.
TEST_P(TwoReplicasInStep, SpreadsWhatACallbackWrites) {
  const auto run = [] {
    set_random_seed(3);
    Sequential model({layers::Dense(1, {.use_bias = false})});
    model.build({kUnknown, 2});
    model.compile({.optimizer = optimizers::SGD(0.1), .loss = "mse"});
    const auto set = [&model](std::int64_t epoch) {
      write_now(model.trainable_variables()[0], Tensor::full({2, 1}, static_cast<double>(epoch)));
      model.optimizer()->set_learning_rate(0.1 / static_cast<double>(epoch + 1));
    };
    model.fit(waves({8, 2}), waves({8, 1}, 3),
              {.batch_size = 4,
               .epochs = 3,
               .verbose = 0,
               .callbacks = {callbacks::LambdaCallback({.on_epoch_begin = set})}});
    return values_of(model)[0];
  };
  const std::vector<float> alone = run();
  const StrategyHandle strategy = in_step_on(GetParam(), 2);
  auto scope = strategy.scope();
  EXPECT_THAT(run(), testing::Pointwise(testing::FloatNear(1e-6f), alone));
}

TEST_P(TwoReplicasInStep, TrainsOnASingleBatch) {
  const auto run = [] {
    set_random_seed(3);
    Sequential model({layers::Dense(2)});
    model.compile({.optimizer = "sgd", .loss = "mse", .metrics = {"mae"}});
    const Logs logs = model.train_on_batch(waves({5, 3}), waves({5, 2}, 7));
    return std::pair(values_of(model)[0], *logs.find("loss"));
  };
  const auto alone = run();
  const StrategyHandle strategy = in_step_on(GetParam(), 2);
  auto scope = strategy.scope();
  const auto mirrored = run();
  EXPECT_THAT(mirrored.first, testing::Pointwise(testing::FloatNear(1e-6f), alone.first));
  EXPECT_NEAR(mirrored.second, alone.second, 1e-6);
}

// A replica's error ends the step of all of them, and is told as it is.
TEST_P(TwoReplicasInStep, TellsTheErrorOfOneReplica) {
  const StrategyHandle strategy = in_step_on(GetParam(), 2);
  auto scope = strategy.scope();
  Sequential model({layers::Embedding(4, 2), layers::Flatten(), layers::Dense(1)});
  model.compile({.optimizer = "sgd", .loss = "mse"});
  const Tensor good = Tensor::of<std::int64_t>({0, 1, 2, 3}, {4, 1}),
               bad = Tensor::of<std::int64_t>({0, 1, 2, 9}, {4, 1});
  const FitOptions quiet{.batch_size = 4, .verbose = 0};
  EXPECT_THAT(cohort::test::error_of([&] { model.fit(bad, waves({4, 1}), quiet); }), testing::HasSubstr("9"));
  model.fit(good, waves({4, 1}), quiet);
}

// Each replica takes a batch of its own from what the function makes.
TEST_P(TwoReplicasInStep, GivesEachReplicaABatchOfAFunction) {
  const auto trained = [](const auto& data) {
    set_random_seed(3);
    Sequential model({layers::Dense(1)});
    model.compile({.optimizer = "sgd", .loss = "mse"});
    model.fit(data, {.epochs = 2, .verbose = 0, .steps_per_epoch = 2});
    return values_of(model)[0];
  };
  const Dataset rows = datasets::from_tensor_slices(waves({8, 2}), waves({8, 1}, 3));
  const std::vector<float> alone = trained(rows.batch(4));
  const StrategyHandle strategy = in_step_on(GetParam(), 2);
  auto scope = strategy.scope();
  const DatasetCreator creator([&](const InputContext& context) {
    EXPECT_EQ(context.num_replicas_in_sync, 2);
    return rows.batch(context.get_per_replica_batch_size(4));
  });
  EXPECT_THAT(trained(creator), testing::Pointwise(testing::FloatNear(1e-6f), alone));
}

INSTANTIATE_TEST_SUITE_P(Strategies, TwoReplicasInStep, testing::Values(InStep::Mirrored, InStep::CentralStorage),
                         [](const auto& info) { return cohort::test::name_of(info.param); });

TEST(MultiWorkerMirroredStrategy, IsAloneInAnEvaluator) {
  const SimpleClusterResolver resolver(ClusterSpec({{"worker", {"127.0.0.1:1", "127.0.0.1:2"}}}),
                                       {.task_type = "evaluator", .task_id = 0});
  const MultiWorkerMirroredStrategy strategy(resolver, {.start_timeout = 0.5});
  EXPECT_EQ(strategy.num_replicas_in_sync(), 1);
  EXPECT_TRUE(strategy.is_chief());
}

}  // namespace
}  // namespace cohort::distribute
