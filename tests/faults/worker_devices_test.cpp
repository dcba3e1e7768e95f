// Workers with two devices each that are killed: what they were doing is done by others, and counts once.
#include <gtest/gtest.h>

#include <future>
#include <random>
#include <thread>

#include "tests/faults/summing.h"
#include "tests/support/deadline.h"
#include "tests/support/kills_wanted.h"
#include "tests/support/process_cluster.h"

namespace cohort::test {
namespace {

using namespace std::chrono_literals;

TEST(KilledWorkerOfTwoDevices, EverySampleCountsOnce) {
  const int kills = kills_wanted(4);
  const Deadline deadline(std::chrono::seconds(60 + 3 * kills));
  ProcessCluster cluster(2, 2, 0, false, {"--devices", "CPU:0,CPU:1"});
  constexpr std::int64_t kSamples = 601, kBatch = 3;  // the last batch has one
  std::atomic<bool> killing = true;
  auto training = std::async(std::launch::async, [&] {
    const distribute::ParameterServerStrategy strategy(distribute::SimpleClusterResolver(cluster.spec()),
                                                       kOnBothServers);
    EXPECT_EQ(strategy.num_replicas_in_sync(), 2);
    auto scope = strategy.scope();
    SummingModel model;
    int epochs = 0;
    do {
      model.fit(numbers(kSamples).rebatch(kBatch), {.verbose = 0});
      ++epochs;
    } while (killing);
    return std::pair(epochs, sums_of(model));
  });
  std::mt19937 random(5);
  for (int kill = 0; kill < kills; ++kill) {
    std::this_thread::sleep_for(std::chrono::milliseconds(300 + random() % 100));
    ServerProcess& worker = cluster.worker(kill % 2);
    worker.kill();
    worker.start();
  }
  killing = false;
  const auto [epochs, sums] = training.get();
  Sums expected = expected_sums(kSamples, epochs);
  expected.iterations = epochs * ((kSamples + kBatch - 1) / kBatch);
  EXPECT_EQ(sums, expected);
}

}  // namespace
}  // namespace cohort::test
