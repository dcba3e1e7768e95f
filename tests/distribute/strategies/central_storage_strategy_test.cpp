// Replicas that compute beside one device that keeps all variables.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>

#include "cohort/cohort.h"
#include "cohort/core/kernel.h"
#include "cohort/core/op.h"
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

std::atomic<int> updates = 0;
std::atomic<bool> update_fails = false;

COHORT_OP("CentralStorageTestUpdate").inputs(1).infer([](const OpCall& call) { return same_as(call.spec(0)); });
KernelFn make_counted(const KernelSpec& spec) {
  const auto bytes = static_cast<std::size_t>(spec.input_size(0)) * sizeof(float);
  return [=](const KernelIO& io) {
    if (update_fails) throw invalid_argument("CentralStorageTestUpdate", "no update is expected", {});
    ++updates;
    std::memcpy(io.out<float>(0), io.in<float>(0), bytes);
  };
}
COHORT_KERNEL("CentralStorageTestUpdate", kCPU, make_counted);

class CountedUpdates : public Optimizer {
 public:
  CountedUpdates() : Optimizer(1.0, {}, "counted") {}
  std::string class_name() const override { return "CountedUpdates"; }
  void update_step(const Gradient& gradient, const Variable& variable, const Tensor&) override {
    Variable(variable).assign_sub(run_op("CentralStorageTestUpdate", {gradient.dense()}));
  }
};

// In a loop of one's own, too: what is done with the sum of the gradients is done once for all replicas.
TEST(CentralStorageStrategy, UpdatesOnceForFunctionsThatReplicasRun) {
  const CentralStorageStrategy strategy(cpus(3));
  auto scope = strategy.scope();
  Variable weight(Tensor::scalar(0.0), {.name = "weight"});
  const Ref<Optimizer> optimizer = make<CountedUpdates>();
  const Function step = function([&](const Tensor& x) {
    GradientTape tape;
    const Tensor loss = ops::sum(x * weight);
    const Variables trained = {weight};
    optimizer->apply(tape.gradient(loss, trained), trained);
    return x * 2.0;
  });
  updates = 0;
  for (int i = 1; i <= 4; ++i) {
    const PerReplica doubled = strategy.run(step, PerReplica::of(Tensors(3, Tensor::full({2}, i, DType::Float32))));
    for (const Tensor& each : strategy.experimental_local_results(doubled)) {
      EXPECT_THAT(each.to_vector<float>(), testing::ElementsAre(2.0f * i, 2.0f * i));
    }
    EXPECT_EQ(updates, i);
  }
  EXPECT_EQ(weight.value().item<float>(), -60.0f);
}

// What the parameter device has written is there for the rest of the replicas' code, and what that writes for it.
TEST(CentralStorageStrategy, UpdatesInTheMiddleOfTheReplicasCode) {
  const auto run = [](const std::function<double(const std::function<Tensor(const Tensor&)>&)>& on_replicas) {
    Variable weight(Tensor::full({3, 1}, 0.5, DType::Float32), {.name = "weight"});
    Variable scale(Tensor::scalar(1.0), {.name = "scale", .aggregation = Aggregation::Mean});
    const optimizers::SGD optimizer(0.1, {.momentum = 0.9});
    const Function step = function([&](const Tensor& x) {
      GradientTape tape;
      const Tensor loss = ops::mean(ops::matmul(x, weight) * scale);
      const Variables trained = {weight};
      optimizer.apply(tape.gradient(loss, trained), trained);
      return loss;
    });
    return on_replicas([&](const Tensor& x) {
      Tensor(step(x));
      scale.assign(scale.value() * 2.0);
      Tensor(step(x));
      return ops::sum(weight.value());
    });
  };
  const Tensor x = waves({4, 3});
  const double alone = run([&](const auto& code) { return code(x).template item<double>(); });
  for (const bool central : {false, true}) {
    const StrategyHandle strategy =
        central ? StrategyHandle(CentralStorageStrategy(cpus(2))) : MirroredStrategy(cpus(2));
    auto scope = strategy.scope();
    const double seen = run([&](const auto& code) {
      double last = 0.0;
      const PerReplica sums = strategy.run(code, PerReplica::of({x, x}));
      for (const Tensor& each : strategy.experimental_local_results(sums)) last = each.item<double>();
      return last;
    });
    // Gradients are summed over the replicas: two of the same are twice as much.
    EXPECT_NEAR(1.5 - seen, 2.0 * (1.5 - alone), 1e-5) << central;
  }
}

// An update that fails on the parameter device ends the replicas' calls, and the next ones are none the worse.
TEST(CentralStorageStrategy, AFailedUpdateEndsTheCall) {
  const CentralStorageStrategy strategy(cpus(2));
  auto scope = strategy.scope();
  Variable weight(Tensor::scalar(0.0), {.name = "weight"});
  const Ref<Optimizer> optimizer = make<CountedUpdates>();
  const Function step = function([&](const Tensor& x) {
    GradientTape tape;
    const Variables trained = {weight};
    const Tensor loss = ops::sum(x * weight);
    optimizer->apply(tape.gradient(loss, trained), trained);
    return loss;
  });
  const PerReplica x = PerReplica::of(Tensors(2, Tensor::full({2}, 1.0, DType::Float32)));
  strategy.run(step, x);
  updates = 0;
  update_fails = true;
  EXPECT_THAT(error_of([&] { strategy.run(step, x); }), HasSubstr("no update is expected"));
  update_fails = false;
  EXPECT_EQ(updates, 0);
  EXPECT_EQ(weight.value().item<float>(), -4.0f);
  strategy.run(step, x);
  EXPECT_EQ(updates, 1);
  EXPECT_EQ(weight.value().item<float>(), -8.0f);
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
