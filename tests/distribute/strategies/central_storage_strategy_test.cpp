// Replicas that compute beside one device that keeps all variables.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cohort/cohort.h"
#include "tests/support/error_of.h"
#include "tests/support/in_step_jobs.h"
#include "tests/support/in_step_strategies.h"

namespace cohort::distribute {
namespace {

using cohort::test::cpus;
using cohort::test::error_of;
using cohort::test::expect_near;
using cohort::test::in_step_jobs;
using cohort::test::InStepJob;
using cohort::test::train_in_step;
using cohort::test::TrainedInStep;
using cohort::test::values_of;
using cohort::test::waves;
using testing::HasSubstr;

TEST(CentralStorageStrategy, KeepsVariablesAndSlotsOnTheParameterDevice) {
  const CentralStorageStrategy strategy(cpus(2), "CPU:5");
  auto scope = strategy.scope();
  EXPECT_EQ(strategy.num_replicas_in_sync(), 2);
  Sequential model({layers::Dense(4, {.activation = "tanh"}), layers::Dense(1)});
  model.compile({.optimizer = "adam", .loss = "mse"});
  model.fit(waves({8, 2}), waves({8, 1}, 3), {.batch_size = 4, .verbose = 0});
  Variables all = model.weights();
  for (const Variable& slot : model.optimizer()->variables()) all.push_back(slot);
  EXPECT_GT(all.size(), 8u);
  for (const Variable& variable : all) EXPECT_EQ(variable.value().device().name(), "CPU:5") << variable.path();
}

TEST(CentralStorageStrategy, KeepsThemOnTheOnlyComputeDeviceUnlessSaid) {
  for (const char* parameter_device : {"", "CPU:3"}) {
    const CentralStorageStrategy strategy({"CPU:2"}, parameter_device);
    auto scope = strategy.scope();
    EXPECT_EQ(strategy.num_replicas_in_sync(), 1);
    EXPECT_EQ(Variable(Tensor::scalar(1.0)).value().device().name(), *parameter_device ? "CPU:3" : "CPU:2");
  }
  const CentralStorageStrategy strategy({"CPU:1", "CPU:2"});
  auto scope = strategy.scope();
  EXPECT_EQ(Variable(Tensor::scalar(1.0)).value().device().name(), "CPU:0");
}

// Devices whose memory the host cannot read compute for variables of the host, and the reverse.
TEST(CentralStorageStrategy, MovesValuesBetweenDevicesOfOtherKinds) {
  const InStepJob job = in_step_jobs()[0];
  const TrainedInStep alone = train_in_step(job, "adam");
  for (const bool host_keeps : {true, false}) {
    const CentralStorageStrategy strategy(host_keeps ? std::vector<std::string>{"TEST:0", "TEST:1"} : cpus(2),
                                          host_keeps ? "CPU:0" : "TEST:2");
    auto scope = strategy.scope();
    expect_near(train_in_step(job, "adam"), alone, 2e-4);
  }
}

// Whatever an optimizer does beside its update, the bits are those of replicas that all do it.
TEST(CentralStorageStrategy, UpdatesAsMirroredReplicasDo) {
  const auto trained_with = [](const StrategyHandle& strategy, const std::function<Ref<Optimizer>()>& optimizer) {
    auto scope = strategy.scope();
    set_random_seed(3);
    Sequential model({layers::Dense(4, {.activation = "tanh", .kernel_constraint = "max_norm"}), layers::Dense(1)});
    model.compile({.optimizer = optimizer(), .loss = "mse"});
    model.fit(waves({11, 2}), waves({11, 1}, 3), {.batch_size = 4, .epochs = 2, .verbose = 0});
    return values_of(model);
  };
  const std::vector<std::function<Ref<Optimizer>()>> all = {
      [] { return optimizers::SGD(0.1, {.momentum = 0.9, .nesterov = true}); },
      [] { return optimizers::Adam(0.1, {.global_clipnorm = 0.1, .use_ema = true, .ema_overwrite_frequency = 2}); },
      [] { return optimizers::Adam(0.1, {.weight_decay = 0.1, .gradient_accumulation_steps = 2}); },
      [] { return optimizers::LossScaleOptimizer(optimizers::RMSprop(0.1), {.dynamic_growth_steps = 2}); },
      [] { return optimizers::Lamb(0.1); },
  };
  for (std::size_t i = 0; i < all.size(); ++i) {
    SCOPED_TRACE(i);
    EXPECT_EQ(trained_with(CentralStorageStrategy(cpus(3)), all[i]), trained_with(MirroredStrategy(cpus(3)), all[i]));
  }
}

TEST(CentralStorageStrategy, SumsWhatReplicasAloneBring) {
  const CentralStorageStrategy strategy(cpus(3));
  const PerReplica values(std::vector<Element>{Tensor::scalar(1.0), Tensor::scalar(2.0), Tensor::scalar(6.0)});
  const auto sum_and_mean = [](const Tensor& x) {
    const ReplicaContext* replica = get_replica_context();
    return replica->all_reduce(ReduceOp::Sum, x) * 100.0 + replica->all_reduce(ReduceOp::Mean, x);
  };
  for (const Tensor& result : strategy.experimental_local_results(strategy.run(sum_and_mean, values))) {
    EXPECT_FLOAT_EQ(result.item<float>(), 903.0f);
  }
}

// A step that looks at what it has just written sees it on every replica.
class ReadsAfterUpdate : public Model {
 public:
  ReadsAfterUpdate() : dense_(track("dense", layers::Dense(1, {.use_bias = false}))) { track_metric(seen); }
  Tensor call(const Tensor& x, const CallContext&) override { return dense_(x); }
  void train_step(const Element& data) override {
    Model::train_step(data);
    seen.update_state(ops::sum(trainable_variables()[0].value()));
  }
  const metrics::Mean seen;

 private:
  layers::Dense dense_;
};

TEST(CentralStorageStrategy, LetsAStepReadWhatItHasWritten) {
  const auto run = [] {
    set_random_seed(3);
    ReadsAfterUpdate model;
    model.compile({.optimizer = optimizers::SGD(0.1), .loss = "mse"});
    model.fit(waves({8, 2}), waves({8, 1}, 3), {.batch_size = 4, .epochs = 2, .verbose = 0});
    return model.seen.result().item<double>();
  };
  const double alone = run();
  const CentralStorageStrategy strategy(cpus(2));
  auto scope = strategy.scope();
  EXPECT_NEAR(run(), alone, 1e-6);
}

TEST(CentralStorageStrategy, SaysWhatIsWrongWithDevices) {
  EXPECT_EQ(error_of([] {
              CentralStorageStrategy({"TEST:0", "test:0"});
            }),
            "InvalidArgument CentralStorageStrategy: each device may be listed once. Received: "
            "compute_devices=TEST:0, test:0. A device computes for one replica.");
  EXPECT_THAT(error_of([] { CentralStorageStrategy({"NPU:0"}); }), HasSubstr("a device of this machine is expected"));
  EXPECT_THAT(error_of([] { CentralStorageStrategy({"CPU:0"}, "NPU:0"); }), HasSubstr("device=NPU:0"));
}

}  // namespace
}  // namespace cohort::distribute
