// Tasks of one process and their shares of its pool.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cohort/cohort.h"
#include "cohort/core/cpu_count.h"
#include "cohort/distribute/cluster/local_cluster_spec.h"
#include "tests/support/error_of.h"

namespace cohort::distribute {
namespace {

COHORT_OP("TaskThreadsTestCount").inputs(1).infer([](const OpCall& call) { return same_as(call.spec(0)); });
KernelFn make_task_threads(const KernelSpec&) {
  return [](const KernelIO& io) { *io.out<float>(0) = static_cast<float>(ThreadPool::instance().threads()); };
}
COHORT_KERNEL("TaskThreadsTestCount", kCPU, make_task_threads);

TEST(TaskThreads, ATaskKeepsToItsShareAndItsCallerDoesNot) {
  ThreadPool& pool = ThreadPool::instance();
  const int before = pool.threads();
  pool.set_threads(5);
  for (int threads : {0, 2}) {
    const LocalCluster cluster({{"worker", 2}, {"ps", 1}}, {.threads = threads});
    const ParameterServerStrategy strategy(cluster.resolver());
    ClusterCoordinator coordinator(strategy);
    const Function count = function([](const Tensor& x) { return run_op("TaskThreadsTestCount", {x}); });
    for (int i = 0; i < 4; ++i) {
      const RemoteValue value = coordinator.schedule(count, {Tensor::scalar(0.0)});
      EXPECT_EQ(Tensor(value.fetch()).item<float>(), threads == 0 ? 5.0f : 2.0f);
    }
    coordinator.join();
    EXPECT_EQ(pool.threads(), 5);
  }
  pool.set_threads(before);
}

float threads_of_a_worker(int workers) {
  const ClusterSpec spec = local_cluster_spec({{"worker", workers}, {"ps", 1}, {"chief", 1}});
  std::vector<std::unique_ptr<Server>> servers;
  for (const char* job : {"worker", "ps"}) {
    for (const std::int64_t index : spec.task_indices(job))
      servers.push_back(std::make_unique<Server>(spec, ServerOptions{.job_name = job, .task_index = index}));
  }
  const ParameterServerStrategy strategy(SimpleClusterResolver(spec, {.task_type = "chief"}));
  ClusterCoordinator coordinator(strategy);
  const Function count = function([](const Tensor& x) { return run_op("TaskThreadsTestCount", {x}); });
  const float threads = Tensor(coordinator.schedule(count, {Tensor::scalar(0.0)}).fetch()).item<float>();
  coordinator.join();
  return threads;
}

TEST(TaskThreads, WorkersOfOneHostLeaveEachOtherTheirPart) {
  ThreadPool& pool = ThreadPool::instance();
  const int before = pool.threads();
  pool.set_threads(5 * usable_cpus());
  EXPECT_EQ(threads_of_a_worker(1), static_cast<float>(5 * usable_cpus()));
  EXPECT_EQ(threads_of_a_worker(2), static_cast<float>(usable_cpus_of_each(2)));
  pool.set_threads(before);
}

TEST(TaskThreads, ANegativeShareIsRefused) {
  EXPECT_THAT(cohort::test::error_of([] {
                LocalCluster cluster({{"ps", 1}}, {.threads = -1});
              }),
              testing::HasSubstr("threads=-1"));
}

}  // namespace
}  // namespace cohort::distribute
