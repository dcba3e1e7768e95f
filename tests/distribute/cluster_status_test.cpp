#include "cohort/distribute/cluster_status.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "cohort/cohort.h"
#include "cohort/distribute/coordinator/status_calls.h"
#include "cohort/distribute/protocol/messages.pb.h"
#include "cohort/distribute/rpc/transport.h"
#include "tests/distribute/coordinator/changed_replies.h"
#include "tests/support/error_of.h"
#include "tests/support/free_ports.h"
#include "tests/support/patience.h"
#include "tests/support/silent_socket.h"

namespace cohort::distribute::test {
namespace {

using namespace std::chrono_literals;
using cohort::test::error_of;
using cohort::test::patience;
using cohort::test::SilentSocket;
using testing::HasSubstr;

Dataset status_data() {
  return datasets::from_tensor_slices(Tensor::full({32, 3}, 1.0), Tensor::full({32, 2}, 1.0)).batch(1);
}

void fit_status_model(const ParameterServerStrategy& strategy) {
  auto scope = strategy.scope();
  Sequential model({layers::Dense(2)});
  model.compile({.optimizer = "sgd", .loss = "mse", .steps_per_execution = 4});
  model.fit(status_data(), {.verbose = 0});
}

TEST(ClusterStatus, TellsWhatEachTaskHasDone) {
  const LocalCluster cluster({{"worker", 2}, {"ps", 1}});
  {
    ParameterServerStrategy strategy(cluster.resolver(), {.job_name = "mine"});
    fit_status_model(strategy);
    const std::vector<TaskStatus> tasks = cluster_status(cluster.resolver().cluster_spec());
    ASSERT_EQ(tasks.size(), 3u);
    const TaskStatus& ps = tasks[0];
    EXPECT_EQ(ps.task, "ps:0");
    EXPECT_EQ(ps.bundles, 32u);
    EXPECT_EQ(ps.variable_bytes, (3 * 2 + 2) * sizeof(float) + ps.variable_bytes % 32);  // and the step count
    std::uint64_t steps = 0, pushed = 0;
    for (const TaskStatus& task : tasks) {
      EXPECT_EQ(task.problem, "");
      EXPECT_EQ(task.job, "mine");
      EXPECT_TRUE(task.led);
      EXPECT_EQ(task.in_hand, 0u);
      EXPECT_GT(task.uptime, 0.0);
      EXPECT_EQ(task.retries, 0u);
      EXPECT_EQ(task.recoveries, 0u);
      EXPECT_EQ(task.running, 0u);
      EXPECT_EQ(task.cluster, cluster.resolver().cluster_spec());
      // Of one machine, whose clocks are one.
      EXPECT_LE(std::abs(task.clock_offset.count()), task.round_trip.count());
      // One worker may have been quick enough to do it all.
      EXPECT_TRUE(task.requests > 0 || (task.steps == 0 && task.task != "ps:0")) << task.task;
      if (task.task == "ps:0") continue;
      steps += task.steps;
      pushed += task.bundles;
      EXPECT_LE(task.staleness, static_cast<double>(task.most_stale));
      EXPECT_EQ(task.steps > 0, task.step_seconds > 0.0);
    }
    EXPECT_EQ(steps, 32u);
    EXPECT_EQ(pushed, 32u);
    // A step's gradients, the values that come back for them, and what the chief asks of the ps.
    EXPECT_GE(ps.bytes_received, 32 * 8 * sizeof(float));
    EXPECT_GE(ps.bytes_sent, 32 * 8 * sizeof(float));
    EXPECT_GE(tasks[1].bytes_sent + tasks[2].bytes_sent, 32 * 8 * sizeof(float));
  }
  for (const TaskStatus& task : cluster_status(cluster.resolver().cluster_spec())) EXPECT_EQ(task.job, "");
}

TEST(ClusterStatus, OfOneWorkerIsNeverStale) {
  const LocalCluster cluster({{"worker", 1}, {"ps", 2}});
  ParameterServerStrategy strategy(cluster.resolver(), {.placement = "round_robin"});
  fit_status_model(strategy);
  const TaskStatus worker = cluster_status(cluster.resolver().cluster_spec()).back();
  EXPECT_GE(worker.bundles, 32u);
  EXPECT_EQ(worker.most_stale, 0u);
}

TEST(ClusterStatus, ComesInTimeAndNamesThoseWhoDoNotAnswer) {
  const SilentSocket silent;
  const std::string nobody = cohort::test::free_addresses(1).front();
  const LocalCluster cluster({{"worker", 1}, {"ps", 1}});
  const ClusterSpec& real = cluster.resolver().cluster_spec();
  const ClusterSpec spec(
      {{"worker", {real.task_address("worker", 0), nobody, silent.address()}}, {"ps", {real.task_address("ps", 0)}}});
  const auto begin = std::chrono::steady_clock::now();
  const std::vector<TaskStatus> tasks = cluster_status(spec, {.timeout = patience(0.5)});
  EXPECT_LT(std::chrono::steady_clock::now() - begin, patience(3s));
  ASSERT_EQ(tasks.size(), 4u);
  EXPECT_EQ(tasks[0].problem, "");
  EXPECT_EQ(tasks[1].problem, "");
  EXPECT_EQ(tasks[2].task, "worker:1");
  EXPECT_EQ(tasks[2].problem, "connection refused");
  EXPECT_EQ(tasks[3].task, "worker:2");
  EXPECT_EQ(tasks[3].address, silent.address());
  EXPECT_THAT(tasks[3].problem, HasSubstr("no answer"));
}

// A task that has taken the request and does not get on with it.
class Sleeper : public rpc::Service {
 public:
  void handle(const Message&, Message&) override { std::this_thread::sleep_for(patience(2s)); }
};

TEST(ClusterStatus, DoesNotWaitForATaskThatSleeps) {
  Sleeper sleeper;
  rpc::Listener listener("127.0.0.1:0", sleeper, "worker:0");
  const auto begin = std::chrono::steady_clock::now();
  const rpc::Peer peer{"worker:0", listener.address()};
  const std::vector<TaskStatus> tasks = StatusCalls({peer}, {.transport = "grpc"}).ask(std::chrono::milliseconds(200));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, patience(1500ms));
  EXPECT_EQ(tasks.front().problem, "no answer within 0.2 s");
}

TEST(ClusterStatus, IsAskedOfAnyTaskOfTheCluster) {
  const LocalCluster cluster({{"worker", 2}, {"ps", 1}});
  const ClusterSpec& spec = cluster.resolver().cluster_spec();
  const std::vector<TaskStatus> tasks = cluster_status_at(spec.task_address("worker", 1));
  ASSERT_EQ(tasks.size(), 3u);
  for (const TaskStatus& task : tasks) EXPECT_EQ(task.problem, "") << task.task;
  EXPECT_THAT(error_of([] { cluster_status_at(cohort::test::free_addresses(1).front()); }),
              testing::AllOf(HasSubstr("Unavailable cluster_status"), HasSubstr("connection refused")));
  EXPECT_THAT(error_of([&] { cluster_status(spec, {.timeout = 0.0}); }), HasSubstr("a timeout above 0"));
  EXPECT_THAT(error_of([&] { cluster_status(ClusterSpec()); }), HasSubstr("a cluster with workers"));
}

TEST_F(ChangedReplies, AStatusIsCheckedBeforeItIsBelieved) {
  const auto problem_with = [&](const std::function<void(proto::TaskStatusProto&)>& change) {
    worker_.change(Method::Status, [&](Message& reply) {
      proto::TaskStatusProto status;
      status.ParseFromString(reply.meta);
      change(status);
      reply.meta = status.SerializeAsString();
    });
    const std::vector<TaskStatus> tasks = cluster_status(spec_);
    EXPECT_EQ(tasks[0].problem, "");
    EXPECT_EQ(tasks[1].task, "worker:0");
    return tasks[1].problem;
  };
  EXPECT_EQ(problem_with([](auto&) {}), "");
  EXPECT_THAT(problem_with([](auto& status) { status.set_task_index(7); }), HasSubstr("task there=worker:7"));
  EXPECT_THAT(problem_with([](auto& status) { status.set_job_name("\x1b[2J"); }), HasSubstr("task there=?[2J:0"));
  EXPECT_THAT(problem_with([](auto& status) { status.set_led_job(std::string(1000, 'x')); }), HasSubstr("200 bytes"));
  EXPECT_THAT(problem_with([](auto& status) { status.set_in_hand(~std::uint64_t{0}); }), HasSubstr("in hand"));
  EXPECT_THAT(problem_with([](auto& status) { status.mutable_cluster(0)->mutable_tasks(0)->set_address("x"); }),
              HasSubstr("address"));
  worker_.change(Method::Status, [](Message& reply) { reply.meta = "\xff"; });
  EXPECT_THAT(cluster_status(spec_)[1].problem, HasSubstr("the message of a method is expected"));
}

}  // namespace
}  // namespace cohort::distribute::test
