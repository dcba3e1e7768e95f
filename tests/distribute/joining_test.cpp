// Workers of this process that join a cluster and leave it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "cohort/cohort.h"
#include "cohort/distribute/cluster_status.h"
#include "cohort/distribute/coordinator/cluster_runtime.h"
#include "tests/support/cluster_certificates.h"
#include "tests/support/deadline.h"
#include "tests/support/error_of.h"
#include "tests/support/free_ports.h"
#include "tests/support/paths.h"
#include "tests/support/started_program.h"

namespace cohort::distribute::test {
namespace {

using namespace std::chrono_literals;
using cohort::test::becomes_true;
using cohort::test::error_of;
using testing::HasSubstr;

std::unique_ptr<Server> join_worker(const ClusterSpec& spec, std::int64_t index = -1) {
  return std::make_unique<Server>(spec, ServerOptions{.job_name = "worker", .task_index = index, .join = true});
}

// Of all workers that can be found.
std::uint64_t steps_of(const ClusterSpec& spec, const std::string& task) {
  for (const TaskStatus& status : cluster_status(spec)) {
    if (status.task == task && status.problem.empty()) return status.steps;
  }
  return 0;
}

class JoiningModel : public Sequential {
 public:
  JoiningModel() : Sequential({layers::Dense(1)}) { compile({.optimizer = "sgd", .loss = "mse"}); }
  void train() {
    fit(datasets::from_tensor_slices(Tensor::full({64, 2}, 1.0), Tensor::full({64, 1}, 1.0)).batch(1), {.verbose = 0});
  }
};

TEST(Joining, WorkersTakePartUntilTheyLeave) {
  const cohort::test::Deadline deadline(60s);
  const LocalCluster cluster({{"ps", 2}});
  auto first = join_worker(cluster.spec());
  const ParameterServerStrategy strategy(cluster.resolver(), {.workers_may_join = true});
  auto scope = strategy.scope();
  JoiningModel model;
  model.train();
  EXPECT_GT(steps_of(cluster.spec(), "worker:0"), 0u);
  auto second = join_worker(cluster.spec(), 4);
  EXPECT_TRUE(becomes_true([&] {
    model.train();
    return steps_of(cluster.spec(), "worker:4") > 0;
  }));
  EXPECT_EQ(strategy.runtime()->connections()->num_workers(), 2);
  first.reset();
  EXPECT_TRUE(becomes_true([&] { return strategy.runtime()->connections()->num_workers() == 1; }));
  model.train();
  const std::vector<TaskStatus> tasks = cluster_status(cluster.spec());
  EXPECT_TRUE(std::none_of(tasks.begin(), tasks.end(), [](const auto& task) { return task.task == "worker:0"; }));
  first = join_worker(cluster.spec());
  EXPECT_TRUE(becomes_true([&] {
    model.train();
    return steps_of(cluster.spec(), "worker:0") > 0;
  }));
  EXPECT_EQ(strategy.runtime()->connections()->num_slots(), 2) << "a number is one worker's, whoever it is";
}

TEST(Joining, IsForStrategiesThatSaySo) {
  const LocalCluster cluster({{"worker", 1}, {"ps", 1}});
  const auto joined = join_worker(cluster.spec());
  EXPECT_TRUE(becomes_true([&] { return cluster_status(cluster.spec()).size() == 3; }));
  const ParameterServerStrategy strategy(cluster.resolver());
  auto scope = strategy.scope();
  JoiningModel model;
  model.train();
  EXPECT_EQ(steps_of(cluster.spec(), "worker:0"), 64u);
  EXPECT_EQ(steps_of(cluster.spec(), "worker:1"), 0u);
}

TEST(Joining, IsRefusedWhereItCannotBe) {
  const ClusterSpec spec({{"ps", {"127.0.0.1:1"}}}), without_ps({{"worker", {"127.0.0.1:1"}}});
  EXPECT_THAT(error_of([&] { Server(spec, {.job_name = "ps", .task_index = 0, .join = true}); }),
              HasSubstr("only a worker joins"));
  EXPECT_THAT(error_of([&] { join_worker(spec, -2); }), HasSubstr("task_index=-2"));
  EXPECT_THAT(error_of([&] { join_worker(without_ps, 0); }), HasSubstr("a cluster with a ps is expected"));
  EXPECT_THAT(error_of([&] { Server(spec, {.job_name = "ps", .task_index = 0, .advertised_address = "127.0.0.1:2"}); }),
              HasSubstr("an advertised_address belongs to a worker that joins"));
  const LocalCluster cluster({{"worker", 1}, {"ps", 1}});
  EXPECT_THAT(error_of([&] { ParameterServerStrategy(cluster.resolver(), {.input_pipelines = 2}); }),
              HasSubstr("with workers_may_join only"));
}

ServerOptions secured(const std::string& job, std::int64_t index, const SecurityOptions& security) {
  return {.job_name = job, .task_index = index, .transport = "grpc", .join = job == "worker", .security = security};
}

TEST(Joining, ACertificateSaysWhichWorkerItIs) {
  const cohort::test::ClusterCertificates certificates;
  const ClusterSpec spec({{"ps", {cohort::test::free_addresses(1).front()}}});
  const Server ps(spec, secured("ps", 0, certificates.options_of("ps:0")));
  const Server joined(spec, secured("worker", -1, certificates.options_of("worker:2")));
  EXPECT_THAT(error_of([&] { Server(spec, secured("worker", 3, certificates.options_of("worker:2"))); }),
              HasSubstr("the certificate of this very task"));
  const ParameterServerStrategy strategy(
      SimpleClusterResolver(spec),
      {.transport = "grpc", .workers_may_join = true, .security = certificates.options_of("chief:0")});
  auto scope = strategy.scope();
  JoiningModel model;
  model.train();
  EXPECT_THAT(strategy.runtime()->connections()->worker_names(), testing::ElementsAre("worker:2"));
}

TEST(Joining, WhoKnowsTheSecretIsNumbered) {
  const cohort::test::TemporaryFolder folder;
  std::ofstream(folder.file("secret")) << std::string(40, 's');
  const SecurityOptions secret{.secret_file = folder.file("secret")};
  const ClusterSpec spec({{"ps", {cohort::test::free_addresses(1).front()}}});
  const Server ps(spec, secured("ps", 0, secret));
  const Server first(spec, secured("worker", -1, secret)), second(spec, secured("worker", -1, secret));
  EXPECT_TRUE(becomes_true([&] {
    const TaskStatus status = cluster_status(spec, {.security = secret}).front();
    return status.members.size() == 2 && status.members.contains(0) && status.members.contains(1);
  }));
}

// A creator does not know how many workers there will be.
TEST(Joining, DataIsDividedAsIfThereWereMany) {
  const LocalCluster cluster({{"worker", 1}, {"ps", 1}});
  const auto pipelines_of = [&](const ParameterServerStrategyOptions& options) {
    const ParameterServerStrategy strategy(cluster.resolver(), options);
    return strategy.runtime()->input_pipelines();
  };
  EXPECT_EQ(pipelines_of({}), 1);
  EXPECT_EQ(pipelines_of({.workers_may_join = true}), 8);
  EXPECT_EQ(pipelines_of({.workers_may_join = true, .input_pipelines = 3}), 3);
}

}  // namespace
}  // namespace cohort::distribute::test
