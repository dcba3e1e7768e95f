// Sixteen workers and four parameter servers that are processes; each server takes 200 ms for an update.
#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <thread>

#include "cohort/cohort.h"
#include "cohort/distribute/cluster_status.h"
#include "tests/faults/own_tasks.h"
#include "tests/support/counted_source.h"
#include "tests/support/deadline.h"

namespace cohort::test {
namespace {

using namespace std::chrono_literals;

constexpr auto kUpdate = 200ms;

COHORT_OP("SlowServersTestRest").inputs(1).infer([](const OpCall& call) { return same_as(call.spec(0)); });
KernelFn make_rest(const KernelSpec& spec) {
  const auto bytes = static_cast<std::size_t>(spec.input_size(0)) * sizeof(float);
  return [=](const KernelIO& io) {
    std::this_thread::sleep_for(kUpdate);
    std::memcpy(io.out<float>(0), io.in<float>(0), bytes);
  };
}
COHORT_KERNEL("SlowServersTestRest", kCPU, make_rest);

// Counts updates; it reads the variable, so it is computed where that lives.
class SlowOptimizer : public Optimizer {
 public:
  SlowOptimizer() : Optimizer(1.0, {}, "slow") {}
  std::string class_name() const override { return "SlowOptimizer"; }
  void update_step(const Gradient& gradient, const Variable& variable, const Tensor&) override {
    const Tensor rested = run_op("SlowServersTestRest", {variable.value()});
    Variable(variable).assign(rested + ops::zeros_like(gradient.dense()) + 1.0);
  }
};

TEST(SlowServers, NobodyIsTakenForLostWithinTwoSeconds) {
  const Deadline deadline(120s);
  constexpr std::int64_t kSteps = 24;
  OwnTasks tasks(16, 4);
  const distribute::ParameterServerStrategy strategy(distribute::SimpleClusterResolver(tasks.spec()),
                                                     {.placement = "round_robin", .dead_after = 2.0});
  auto scope = strategy.scope();
  Sequential model;
  for (int i = 0; i < 4; ++i) {
    model.add(layers::Dense(1, {.use_bias = false, .kernel_initializer = "zeros"}));
  }
  model.compile({.optimizer = make<SlowOptimizer>(), .loss = "mse"});
  const DatasetCreator data([](const InputContext&) { return counted_source({}); });
  const auto begin = std::chrono::steady_clock::now();
  model.fit(data, {.verbose = 0, .steps_per_epoch = kSteps});
  // Each server has rested for every step.
  EXPECT_GE(std::chrono::steady_clock::now() - begin, kSteps * kUpdate);
  for (const Tensor& weight : model.get_weights()) EXPECT_EQ(weight.item<float>(), static_cast<float>(kSteps));
  for (const distribute::TaskStatus& task : distribute::cluster_status(tasks.spec())) {
    EXPECT_EQ(task.problem, "") << task.task;
    EXPECT_EQ(task.recoveries, 0u) << task.task;
    EXPECT_EQ(task.retries, 0u) << task.task;
  }
}

}  // namespace
}  // namespace cohort::test
