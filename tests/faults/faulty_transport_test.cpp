// Messages that are lost, repeated and late on every way of a cluster in one process.
#include <gtest/gtest.h>

#include "cohort/distribute/cluster/local_cluster_spec.h"
#include "cohort/distribute/worker/task_service.h"
#include "tests/faults/summing.h"
#include "tests/support/deadline.h"
#include "tests/support/fault_transport.h"

namespace cohort::test {
namespace {

using namespace std::chrono_literals;
using namespace distribute;

// Tasks of this process whose own calls suffer from the faults.
class FaultyCluster {
 public:
  FaultyCluster(int workers, int servers, const rpc::TransportOptions& transport)
      : spec_(local_cluster_spec({{"worker", workers}, {"ps", servers}})) {
    for (const std::string& job : spec_.jobs()) {
      for (const std::int64_t index : spec_.task_indices(job)) {
        services_.push_back(std::make_unique<TaskService>(spec_, job, index, transport));
        listeners_.push_back(std::make_unique<rpc::Listener>(spec_.task_address(job, index), *services_.back(),
                                                             job + ":" + std::to_string(index)));
      }
    }
  }
  ~FaultyCluster() {
    for (const auto& service : services_) service->stop();
  }
  const ClusterSpec& spec() const { return spec_; }

 private:
  ClusterSpec spec_;
  std::vector<std::unique_ptr<TaskService>> services_;
  std::vector<std::unique_ptr<rpc::Listener>> listeners_;
};

struct Where {
  const char* name;
  bool chief, workers;
};

class FaultyTransport : public testing::TestWithParam<std::tuple<Where, std::uint64_t>> {};

std::shared_ptr<FaultCounts> train_with(const Faults& faults, const Where& where) {
  auto counts = std::make_shared<FaultCounts>();
  const rpc::TransportOptions faulty{.wrap = fault_transport(faults, counts)};
  FaultyCluster cluster(3, 2, where.workers ? faulty : rpc::TransportOptions{});
  ClusterRuntimeOptions options;
  if (where.chief) options.connections.transport = faulty;
  ParameterServerStrategy strategy(std::make_shared<ClusterRuntime>(cluster.spec(), options), kOnBothServers);
  EXPECT_EQ(fit_sums(strategy, 500, 2), expected_sums(500, 2));
  EXPECT_EQ(schedule_sums(strategy, 200), expected_sums(200));
  return counts;
}

TEST_P(FaultyTransport, EveryElementCountsOnce) {
  const Deadline deadline(60s);
  const auto [where, seed] = GetParam();
  const auto counts = train_with(
      {.seed = seed, .drop_request = 0.05, .drop_reply = 0.05, .duplicate = 0.1, .late = 0.1, .timeout = 1ms}, where);
  EXPECT_GT(counts->dropped_requests, 0);
  EXPECT_GT(counts->dropped_replies, 0);
  EXPECT_GT(counts->duplicates, 0);
  EXPECT_GT(counts->late, 0);
}

TEST_P(FaultyTransport, EveryElementCountsOnceWhenStreamsBreak) {
  const Deadline deadline(60s);
  const auto [where, seed] = GetParam();
  EXPECT_GT(train_with({.seed = seed, .disconnect = 0.02}, where)->disconnects, 0);
}

// Whatever becomes of the message that lets go of old data, a closure meets its own.
TEST_P(FaultyTransport, DataThatComesAndGoesIsNeverMixedUp) {
  const Deadline deadline(60s);
  const auto [where, seed] = GetParam();
  const rpc::TransportOptions faulty{.wrap = fault_transport({.seed = seed,
                                                              .drop_request = 0.02,
                                                              .drop_reply = 0.02,
                                                              .duplicate = 0.1,
                                                              .late = 0.1,
                                                              .disconnect = 0.01,
                                                              .timeout = 1ms})};
  FaultyCluster cluster(2, 1, where.workers ? faulty : rpc::TransportOptions{});
  ClusterRuntimeOptions options;
  options.queue.max_attempts = 1000;
  if (where.chief) options.connections.transport = faulty;
  ParameterServerStrategy strategy(std::make_shared<ClusterRuntime>(cluster.spec(), options));
  auto scope = strategy.scope();
  Sequential model({layers::Dense(1, {.use_bias = false, .kernel_initializer = "ones"})});
  model.compile({.optimizer = "sgd", .loss = "mse", .steps_per_execution = 2});
  for (int round = 0; round < 40; ++round) {
    const Tensor outputs = model.predict(
        datasets::from_tensor_slices(Tensor::full({32, 2}, static_cast<double>(round))).batch(4), {.verbose = 0});
    ASSERT_EQ(outputs.to_vector<float>(), std::vector<float>(32, static_cast<float>(2 * round))) << round;
  }
}

INSTANTIATE_TEST_SUITE_P(Ways, FaultyTransport,
                         testing::Combine(testing::Values(Where{"chief", true, false}, Where{"workers", false, true},
                                                          Where{"all", true, true}),
                                          testing::Values(1, 2, 3)),
                         [](const auto& info) {
                           return std::string(std::get<0>(info.param).name) + "_" +
                                  std::to_string(std::get<1>(info.param));
                         });

}  // namespace
}  // namespace cohort::test
