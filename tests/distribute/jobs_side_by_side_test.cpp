// Two chiefs of one process and their jobs on the same tasks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include "cohort/cohort.h"
#include "cohort/distribute/cluster/local_cluster_spec.h"
#include "cohort/distribute/cluster_status.h"
#include "cohort/distribute/coordinator/status_calls.h"
#include "cohort/distribute/coordinator/task_connections.h"
#include "tests/support/counted_source.h"
#include "tests/support/error_of.h"
#include "tests/support/patience.h"

namespace cohort::distribute::test {
namespace {

using namespace std::chrono_literals;
using cohort::test::counted_source;
using cohort::test::error_of;
using cohort::test::patience;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> names_of_jobs(const TaskStatus& task) {
  std::vector<std::string> names;
  for (const TaskStatus& job : task.jobs) names.push_back(job.job);
  return names;
}

// Adds up so many ones.
float count_to(const ParameterServerStrategy& strategy, int number) {
  auto scope = strategy.scope();
  Variable sum(Tensor::scalar(0.0), {.name = "sum"});
  ClusterCoordinator coordinator(strategy);
  const Function add = function([&](const Tensor& x) { sum.assign_add(x); });
  for (int i = 0; i < number; ++i) coordinator.schedule(add, {Tensor::scalar(1.0)});
  coordinator.join();
  return read_now(sum).item<float>();
}

class JobsOnTransports : public testing::TestWithParam<const char*> {};

TEST_P(JobsOnTransports, HaveVariablesOfTheirOwnAndEndAlone) {
  const LocalCluster cluster({{"worker", 2}, {"ps", 1}}, {.transport = GetParam()});
  const ParameterServerStrategy day(cluster.resolver(), {.transport = GetParam(), .job_name = "day"});
  {
    const ParameterServerStrategy night(cluster.resolver(), {.transport = GetParam(), .job_name = "night"});
    std::thread other([&] { EXPECT_EQ(count_to(night, 100), 100.0f); });
    EXPECT_EQ(count_to(day, 200), 200.0f);
    other.join();
    for (const TaskStatus& task : cluster_status(cluster.spec())) {
      EXPECT_THAT(names_of_jobs(task), ElementsAre("day", "night")) << task.task;
      EXPECT_EQ(task.job, "night");
      EXPECT_TRUE(task.jobs[0].led && task.jobs[1].led);
    }
    const std::vector<TaskStatus> tasks = cluster_status(cluster.spec());
    EXPECT_EQ(tasks[0].jobs[0].bundles, 200u);
    EXPECT_EQ(tasks[0].jobs[1].bundles, 100u);
    EXPECT_EQ(tasks[1].jobs[0].steps + tasks[2].jobs[0].steps, 200u);
    EXPECT_EQ(tasks[1].jobs[1].steps + tasks[2].jobs[1].steps, 100u);
  }
  for (const TaskStatus& task : cluster_status(cluster.spec())) EXPECT_THAT(names_of_jobs(task), ElementsAre("day"));
  EXPECT_EQ(count_to(day, 10), 10.0f);
}

INSTANTIATE_TEST_SUITE_P(Transports, JobsOnTransports, testing::Values("auto", "shm", "tcp", "grpc"));

TEST(Server, TakesNoMoreJobsThanItWasToldTo) {
  const ClusterSpec spec = local_cluster_spec({{"worker", 1}, {"ps", 1}});
  const Server worker(spec, {.job_name = "worker", .max_jobs = 1}), ps(spec, {.job_name = "ps"});
  const SimpleClusterResolver resolver(spec);
  const ParameterServerStrategy day(resolver, {.job_name = "day"});
  EXPECT_THAT(error_of([&] { ParameterServerStrategy(resolver, {.job_name = "night"}); }),
              AllOf(HasSubstr("ResourceExhausted worker:0"), HasSubstr("jobs here=[day]")));
  EXPECT_EQ(count_to(day, 5), 5.0f);
  EXPECT_THAT(error_of([&] { Server none(spec, {.job_name = "ps", .start = false, .max_jobs = 0}); }),
              HasSubstr("max_jobs=0"));
  EXPECT_THAT(error_of([&] { Server none(spec, {.job_name = "ps", .start = false, .total_memory_limit = -1}); }),
              HasSubstr("total_memory_limit=-1"));
}

// Also where one lists a chief and the other does not: without names they are the same job.
TEST(UnnamedJobs, AreOneJobToTheSameServers) {
  const LocalCluster cluster({{"worker", 1}, {"ps", 1}});
  const ParameterServerStrategy first(cluster.resolver());
  const ClusterSpec with_chief({{"chief", {"127.0.0.1:1"}},
                                {"worker", {cluster.spec().task_address("worker", 0)}},
                                {"ps", {cluster.spec().task_address("ps", 0)}}});
  EXPECT_THAT(error_of([&] { ParameterServerStrategy{SimpleClusterResolver(with_chief)}; }),
              HasSubstr("FailedPrecondition ps:0"));
  EXPECT_EQ(count_to(first, 5), 5.0f);
}

// While a worker is busy with one job's closures of half a second, those of another job take no longer than alone.
TEST(JobsOnOneWorker, ShortClosuresDoNotWaitForLongOnes) {
  const LocalCluster cluster({{"worker", 1}, {"ps", 1}}, {.transport = "grpc"});
  const ParameterServerStrategy quick(cluster.resolver(), {.transport = "grpc", .job_name = "quick"});
  const ParameterServerStrategy slow(cluster.resolver(), {.transport = "grpc", .job_name = "slow"});
  ClusterCoordinator quick_coordinator(quick), slow_coordinator(slow);
  const Function twice = function([](const Tensor& x) { return x + x; });
  const auto longest_of = [&](int closures) {
    std::chrono::nanoseconds longest{0};
    for (int i = 0; i < closures; ++i) {
      const auto begin = std::chrono::steady_clock::now();
      EXPECT_EQ(Tensor(quick_coordinator.schedule(twice, {Tensor::scalar(1.0)}).fetch()).item<float>(), 2.0f);
      longest = std::max<std::chrono::nanoseconds>(longest, std::chrono::steady_clock::now() - begin);
    }
    return longest;
  };
  longest_of(20);
  auto iterator = slow_coordinator.create_per_worker_dataset(counted_source({.takes = 500ms})).iterator();
  const Function take = function([](Iterator data) {
    auto [x, y] = data.next<2>();
    return x;
  });
  RemoteValue last;
  for (int i = 0; i < 3; ++i) last = slow_coordinator.schedule(take, {iterator});
  int rounds = 0;
  std::chrono::nanoseconds longest{0};
  while (!slow_coordinator.done()) {
    longest = std::max(longest, longest_of(10));
    ++rounds;
  }
  EXPECT_EQ(Tensor(last.fetch()).item<float>(), 3.0f);
  EXPECT_GT(rounds, 5);
  EXPECT_LT(longest, patience(250ms)) << "the other's elements take 500 ms";
}

TEST(StatusCalls, OfAChiefTellOfItsOwnJob) {
  const LocalCluster cluster({{"worker", 1}, {"ps", 1}});
  const TaskConnections day(cluster.spec(), {.job_name = "day"}), night(cluster.spec(), {.job_name = "night"});
  for (const TaskConnections* chief : {&day, &night}) {
    for (const TaskStatus& task : StatusCalls(chief->tasks(), chief->transport(), chief->job()).ask(patience(2000ms))) {
      EXPECT_EQ(task.job, chief == &day ? "day" : "night") << task.task << task.problem;
    }
  }
}

}  // namespace
}  // namespace cohort::distribute::test
