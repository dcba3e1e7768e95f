// How many messages a step costs, and what the chief sends.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "cohort/cohort.h"
#include "tests/distribute/watched_cluster.h"

namespace cohort::distribute::test {
namespace {

constexpr std::int64_t kFeatures = 20;

Dataset batches(std::int64_t batch, std::int64_t units) {
  return datasets::from_tensor_slices(Tensor::full({2 * batch, kFeatures}, 0.5), Tensor::full({2 * batch, units}, 0.25))
      .shuffle(2 * batch)
      .repeat()
      .batch(batch);
}

struct Training {
  std::int64_t units = 10, batch = 8, steps_per_execution = 10, executions = 6;
};

// What a trained epoch sends, once every task knows the function and the data.
std::vector<Seen> seen_in_training(WatchedCluster& cluster, const Training& training, const char* transport,
                                   const char* placement = "round_robin") {
  const ParameterServerStrategy strategy(cluster.resolver(), {.placement = placement, .transport = transport});
  auto scope = strategy.scope();
  Sequential model({layers::Dense(training.units)});
  model.compile(
      {.optimizer = "adam", .loss = "mse", .metrics = {"mae"}, .steps_per_execution = training.steps_per_execution});
  std::vector<Seen> seen;
  model.fit(batches(training.batch, training.units),
            {.epochs = 4,
             .verbose = 0,
             .steps_per_epoch = training.steps_per_execution * training.executions,
             .callbacks = {callbacks::LambdaCallback(
                 {.on_epoch_begin = [&](std::int64_t) { cluster.take_seen(); },
                  .on_epoch_end = [&](std::int64_t, Logs&) { seen = cluster.take_seen(); }})}});
  return seen;
}

std::map<std::pair<std::string, Method>, int> counted_traffic(const std::vector<Seen>& seen) {
  std::map<std::pair<std::string, Method>, int> counts;
  for (const Seen& each : seen) ++counts[{each.task, each.method}];
  return counts;
}

// Workers exchange; all else is the chief's.
std::size_t largest_message_of_the_chief(const std::vector<Seen>& seen) {
  std::size_t largest = 0;
  for (const Seen& each : seen) {
    if (each.method != Method::Exchange) largest = std::max({largest, each.request_bytes, each.reply_bytes});
  }
  return largest;
}

class Traffic : public testing::TestWithParam<const char*> {};

// Two parameter servers hold a kernel and a bias: one round trip to each for a step; one more each for a closure, when
// a worker's copies are older than the chief wants them. The chief sends a closure and gets its result.
TEST_P(Traffic, ADenseStepIsOneRoundTripForEachParameterServer) {
  const Training training{.units = 10, .steps_per_execution = 10, .executions = 6};
  WatchedCluster cluster({{"worker", 1}, {"ps", 2}}, GetParam());
  const auto counts = counted_traffic(seen_in_training(cluster, training, GetParam()));
  const int steps = 60, closures = 6;
  int others = 0;
  for (const auto& [key, count] : counts) {
    const auto& [task, method] = key;
    if (method == Method::Exchange && task.starts_with("ps:")) {
      EXPECT_GE(count, steps) << task;
      EXPECT_LE(count, steps + 1) << task;
    } else if (method == Method::RunClosure && task == "worker:0") {
      EXPECT_EQ(count, closures);
    } else {
      others += count;
    }
  }
  EXPECT_EQ(counts.size(), 3u);
  EXPECT_EQ(others, 0);
}

// A round trip is worth more than a few balanced bytes.
TEST_P(Traffic, SmallVariablesShareAServerAndLargeOnesAreSpread) {
  for (const auto& [units, servers] : {std::pair(10, 1), std::pair(4000, 2)}) {
    WatchedCluster cluster({{"worker", 1}, {"ps", 2}}, GetParam());
    const Training training{.units = units, .steps_per_execution = 2, .executions = 2};
    const auto counts = counted_traffic(seen_in_training(cluster, training, GetParam(), "bytes"));
    EXPECT_EQ(counts.contains({"ps:0", Method::Exchange}) + counts.contains({"ps:1", Method::Exchange}), servers);
  }
}

// A parameter server that holds nothing of the function hears nothing of it.
TEST_P(Traffic, AParameterServerWithoutVariablesIsLeftAlone) {
  WatchedCluster cluster({{"worker", 2}, {"ps", 2}}, GetParam());
  const ParameterServerStrategy strategy(cluster.resolver(), {.transport = GetParam()});
  auto scope = strategy.scope();
  const Variable weight(Tensor::scalar(1.0));
  ClusterCoordinator coordinator(strategy);
  const Function step = function([&](const Tensor& x) { return weight.value() * x; });
  coordinator.schedule(step, {Tensor::scalar(2.0)}).fetch();
  coordinator.join();
  cluster.take_seen();
  for (int i = 0; i < 20; ++i) coordinator.schedule(step, {Tensor::scalar(2.0)});
  coordinator.join();
  const auto counts = counted_traffic(cluster.take_seen());
  EXPECT_FALSE(counts.contains({"ps:1", Method::Exchange}));
  // Only read, never written: each closure asks once whether it is still the same.
  EXPECT_LE(counts.at({"ps:0", Method::Exchange}), 20);
}

TEST_P(Traffic, NothingOfTheChiefGrowsWithTheModelOrTheBatch) {
  std::vector<std::size_t> largest;
  for (const Training& training : {Training{.units = 10, .batch = 8}, Training{.units = 1000, .batch = 8},
                                   Training{.units = 10, .batch = 512}, Training{.units = 1000, .batch = 512}}) {
    WatchedCluster cluster({{"worker", 1}, {"ps", 2}}, GetParam());
    largest.push_back(largest_message_of_the_chief(seen_in_training(cluster, training, GetParam())));
  }
  // Numbers of other lengths: a few bytes.
  for (const std::size_t bytes : largest)
    EXPECT_NEAR(static_cast<double>(bytes), static_cast<double>(largest[0]), 32.0);
  EXPECT_LT(largest[0], 1024u);
}

TEST_P(Traffic, InitialValuesAreMadeWhereTheyLie) {
  WatchedCluster cluster({{"worker", 1}, {"ps", 2}}, GetParam());
  const ParameterServerStrategy strategy(cluster.resolver(),
                                         {.variable_partitioner = FixedShardsPartitioner(2), .transport = GetParam()});
  auto scope = strategy.scope();
  cluster.take_seen();
  Sequential model({layers::Dense(4000), layers::Dense(50, {.kernel_initializer = "he_normal"})});
  model.build({kUnknown, 100});
  std::size_t bytes = 0;
  for (const Seen& each : cluster.take_seen()) {
    EXPECT_EQ(each.method, Method::CreateVariable);
    bytes += each.request_bytes + each.reply_bytes;
  }
  EXPECT_GT(bytes, 0u);
  EXPECT_LT(bytes, 4096u);
}

INSTANTIATE_TEST_SUITE_P(Transports, Traffic, testing::Values("auto", "grpc"));

}  // namespace
}  // namespace cohort::distribute::test
