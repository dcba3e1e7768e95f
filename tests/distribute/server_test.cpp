#include "cohort/distribute/server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <thread>

#include "cohort/cohort.h"
#include "cohort/distribute/cluster/local_cluster_spec.h"
#include "tests/support/error_within.h"

namespace cohort::distribute {
namespace {

using namespace std::chrono_literals;
using cohort::test::error_of;
using cohort::test::error_within;
using testing::AllOf;
using testing::AnyOf;
using testing::HasSubstr;

TEST(Server, ATakenPortIsAnError) {
  const ClusterSpec spec = local_cluster_spec({{"ps", 1}});
  const Server first(spec);
  EXPECT_THAT(error_within(1s, [&] { Server second(spec); }),
              AllOf(HasSubstr("ps:0"), HasSubstr(spec.task_address("ps", 0))));
}

TEST(Server, PortZeroIsAFreeOne) {
  const auto first = Server::create_local_server(), second = Server::create_local_server();
  EXPECT_THAT(first->target(), HasSubstr("grpc://127.0.0.1:"));
  EXPECT_NE(first->target(), second->target());
  EXPECT_NE(first->target(), "grpc://127.0.0.1:0");
}

TEST(Server, ListensToThisMachineOnly) {
  EXPECT_THAT(error_within(1s,
                           [] {
                             Server server(ClusterSpec({{"ps", {"0.0.0.0:0"}}}));
                           }),
              AllOf(HasSubstr("InvalidArgument ps:0"), HasSubstr("with security"), HasSubstr("address=0.0.0.0:0")));
}

TEST(Server, IsATaskOfItsCluster) {
  const ClusterSpec spec = local_cluster_spec({{"worker", 2}, {"ps", 1}});
  EXPECT_THAT(error_of([&] { Server server(spec); }), HasSubstr("Give job_name"));
  EXPECT_THAT(error_of([&] { Server server(spec, {.job_name = "worker"}); }), HasSubstr("Give task_index"));
  EXPECT_THAT(error_of([&] { Server server(spec, {.job_name = "worker", .task_index = 2}); }),
              HasSubstr("task=worker:2"));
  EXPECT_THAT(error_of([&] { Server server(spec, {.job_name = "master", .task_index = 0}); }), HasSubstr("job=master"));
  EXPECT_THAT(error_of([&] { Server server(spec, {.job_name = "ps", .protocol = "http"}); }),
              HasSubstr("protocol=http"));
  EXPECT_THAT(error_of([&] { Server server(spec, {.job_name = "ps", .transport = "pigeon"}); }),
              HasSubstr("transport=pigeon"));
}

TEST(Server, JoinReturnsOnStop) {
  const auto server = Server::create_local_server();
  auto joined = std::async(std::launch::async, [&] { return server->join(); });
  EXPECT_EQ(joined.wait_for(50ms), std::future_status::timeout);
  server->stop();
  ASSERT_EQ(joined.wait_for(2s), std::future_status::ready);
  EXPECT_EQ(joined.get(), 0);
  server->stop();  // once more changes nothing
}

class ServersInUse : public testing::TestWithParam<const char*> {
 protected:
  ServersInUse() : spec_(local_cluster_spec({{"worker", 2}, {"ps", 1}})) {
    for (const auto& [job, index] : {std::pair("ps", 0), std::pair("worker", 0), std::pair("worker", 1)}) {
      servers_.push_back(std::make_unique<Server>(
          spec_, ServerOptions{.job_name = job, .task_index = index, .transport = GetParam()}));
    }
  }
  ParameterServerStrategy lead() const {
    return ParameterServerStrategy(SimpleClusterResolver(spec_), {.transport = GetParam()});
  }
  Server& ps() { return *servers_[0]; }
  Server& worker(std::size_t index) { return *servers_[1 + index]; }

  const ClusterSpec spec_;
  std::vector<std::unique_ptr<Server>> servers_;
};

TEST_P(ServersInUse, JoinReturnsWhenTheJobEnds) {
  std::vector<std::future<int>> joined;
  for (const auto& server : servers_) {
    joined.push_back(std::async(std::launch::async, [&server] { return server->join(); }));
  }
  {
    const ParameterServerStrategy strategy = lead();
    for (auto& each : joined) EXPECT_EQ(each.wait_for(20ms), std::future_status::timeout);
  }
  for (auto& each : joined) {
    ASSERT_EQ(each.wait_for(2s), std::future_status::ready);
    EXPECT_EQ(each.get(), 0);
  }
}

// Work that is running when a worker is stopped goes to the other one, and is done once.
TEST_P(ServersInUse, AStoppedWorkerLeavesItsWorkToOthers) {
  const ParameterServerStrategy strategy = lead();
  auto scope = strategy.scope();
  Variable sum(Tensor::scalar(0.0));
  ClusterCoordinator coordinator(strategy);
  const Function add = function([&](const Tensor& x) { sum.assign_add(x); });
  for (int i = 0; i < 300; ++i) {
    coordinator.schedule(add, {Tensor::scalar(1.0)});
    if (i == 100) {
      const auto start = std::chrono::steady_clock::now();
      worker(0).stop();
      EXPECT_LT(std::chrono::steady_clock::now() - start, 2s);
    }
  }
  coordinator.join();
  EXPECT_EQ(read_now(sum).item<float>(), 300.0f);
}

TEST_P(ServersInUse, AStepUnderWayOnAStoppedWorkerIsRunElsewhere) {
  const ParameterServerStrategy strategy = lead();
  auto scope = strategy.scope();
  Sequential model({layers::Dense(1, {.kernel_initializer = "zeros"})});
  model.compile({.optimizer = optimizers::SGD(1.0), .loss = "mse", .steps_per_execution = 50});
  auto stopped = std::async(std::launch::async, [&] {
    std::this_thread::sleep_for(100ms);
    worker(1).stop();
  });
  const Tensor x = Tensor::full({64, 1}, 0.0);
  model.fit(datasets::from_tensor_slices(x, x).repeat().batch(8), {.epochs = 1, .verbose = 0, .steps_per_epoch = 5000});
  stopped.get();
  EXPECT_EQ(read_now(model.optimizer()->iterations()).item<std::int64_t>(), 5000);
}

std::atomic<int> elements_taken = 0;

COHORT_HOST_FUNCTION("server_test>slow", [](const Tensors& element) {
  std::this_thread::sleep_for(10ms);
  ++elements_taken;
  return element;
});

// Neither is it lost nor run a second time.
TEST_P(ServersInUse, AStoppedWorkerEndsWhatItHasBegun) {
  const ParameterServerStrategy strategy = lead();
  auto scope = strategy.scope();
  Sequential model({layers::Dense(1, {.kernel_initializer = "zeros"})});
  model.compile({.optimizer = optimizers::SGD(1.0), .loss = "mse", .steps_per_execution = 20});
  const Tensor x = Tensor::full({64, 1}, 0.0);
  const DatasetCreator data([&](const InputContext&) {
    const TensorSpec batch{DType::Float32, {8, 1}};
    return datasets::from_tensor_slices(x, x)
        .repeat()
        .batch(8, {.drop_remainder = true})
        .map(HostFunction::registered("server_test>slow", ElementSpec::tuple({batch, batch})));
  });
  constexpr int kSteps = 200;
  elements_taken = 0;
  auto stopped = std::async(std::launch::async, [&] {
    while (elements_taken < 30) std::this_thread::sleep_for(1ms);  // both are in the middle of their first ones
    worker(1).stop();
    return elements_taken.load();
  });
  model.fit(data, {.epochs = 1, .verbose = 0, .steps_per_epoch = kSteps});
  EXPECT_LT(stopped.get(), kSteps) << "it was too late";
  EXPECT_EQ(elements_taken.load(), kSteps);
  EXPECT_EQ(read_now(model.optimizer()->iterations()).item<std::int64_t>(), kSteps);
}

TEST_P(ServersInUse, AStoppedParameterServerIsNamed) {
  const ParameterServerStrategy strategy = lead();
  auto scope = strategy.scope();
  Variable sum(Tensor::scalar(0.0));
  ClusterCoordinator coordinator(strategy);
  const Function add = function([&](const Tensor& x) { sum.assign_add(x); });
  coordinator.schedule(add, {Tensor::scalar(1.0)});
  coordinator.join();
  ps().stop();
  EXPECT_THAT(error_within(6s,
                           [&] {
                             coordinator.schedule(add, {Tensor::scalar(1.0)});
                             coordinator.join();
                           }),
              AllOf(HasSubstr("Unavailable"), HasSubstr("ps:0")));
  EXPECT_THAT(error_within(6s, [&] { read_now(sum); }), AllOf(HasSubstr("Unavailable ps:0")));
}

INSTANTIATE_TEST_SUITE_P(Transports, ServersInUse, testing::Values("auto", "shm", "tcp", "grpc"));

TEST(Server, ServesTheJobItIsFor) {
  const ClusterSpec spec = local_cluster_spec({{"worker", 1}, {"ps", 1}});
  const Server worker(spec, {.job_name = "worker", .only_job = "night"}), ps(spec, {.job_name = "ps"});
  const SimpleClusterResolver resolver(spec);
  EXPECT_THAT(
      error_within(10s, [&] { ParameterServerStrategy(resolver, {.job_name = "day"}); }),
      AllOf(HasSubstr("worker:0: a chief of the job that this task serves"), HasSubstr("night"), HasSubstr("day")));
  const ParameterServerStrategy strategy(resolver, {.job_name = "night"});
}

// A variable that a ps has no room for is refused by name and size, and the ps serves on.
TEST(Server, RefusesVariablesBeyondItsMemory) {
  const ClusterSpec spec = local_cluster_spec({{"worker", 1}, {"ps", 1}});
  const Server worker(spec, {.job_name = "worker"}), ps(spec, {.job_name = "ps", .memory_limit = 1 << 20});
  const ParameterServerStrategy strategy{SimpleClusterResolver(spec)};
  auto scope = strategy.scope();
  const Variable small(Tensor::full({100}, 2.0), {.name = "small"});
  EXPECT_THAT(error_of([] { const Variable table(Tensor::full({300'000}, 1.0), {.name = "table"}); }),
              AllOf(HasSubstr("ResourceExhausted ps:0"), HasSubstr("/table, bytes=1200000, free=1048176")));
  EXPECT_THAT(error_of([] {
                const Variable other(InitialValue::constant(0.0, {std::int64_t{1} << 44}, DType::Float32),
                                     {.name = "other"});
              }),
              HasSubstr("/other, bytes=70368744177664"));
  ClusterCoordinator coordinator(strategy);
  const Function sum = function([&] { return ops::sum(small.value()); });
  EXPECT_EQ(Tensor(coordinator.schedule(sum).fetch()).item<float>(), 200.0f);
  EXPECT_THAT(error_of([&] { Server other(spec, {.job_name = "ps", .start = false, .memory_limit = -1}); }),
              HasSubstr("memory_limit=-1"));
}

}  // namespace
}  // namespace cohort::distribute
