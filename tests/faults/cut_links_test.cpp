// Networks that are only partly broken: links that are cut, that fall silent for a while, and that never come back.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <future>
#include <random>
#include <thread>

#include "tests/faults/summing.h"
#include "tests/support/deadline.h"
#include "tests/support/error_of.h"
#include "tests/support/kills_wanted.h"
#include "tests/support/process_cluster.h"

namespace cohort::test {
namespace {

using namespace std::chrono_literals;
using distribute::ParameterServerStrategy;
using distribute::ParameterServerStrategyOptions;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

// Trains for as long as it is wanted.
class EndlessTraining {
 public:
  EndlessTraining(ProcessCluster& cluster, ParameterServerStrategyOptions options) {
    options.placement = "round_robin";
    epochs_ = std::async(std::launch::async, [this, &cluster, options] {
      ParameterServerStrategy strategy(distribute::SimpleClusterResolver(cluster.spec()), options);
      auto scope = strategy.scope();
      SummingModel model;
      do {
        model.fit(numbers(kElements), {.verbose = 0});
        ++done_;
      } while (wanted_);
      return sums_of(model);
    });
    wait_for_epochs(1);
  }
  // That many more than by now; false when it ends before.
  bool wait_for_epochs(int count) {
    const int until = done_ + count;
    while (done_ < until) {
      if (epochs_.wait_for(5ms) == std::future_status::ready) return false;
    }
    return true;
  }
  // Whether every element was counted once in each epoch.
  void expect_exact_sums() {
    wanted_ = false;
    const Sums sums = epochs_.get();
    EXPECT_EQ(sums, expected_sums(kElements, done_));
  }
  std::string error() {
    wanted_ = false;
    return error_of([&] { epochs_.get(); });
  }

 private:
  static constexpr std::int64_t kElements = 100;
  std::atomic<int> done_ = 0;
  std::atomic<bool> wanted_ = true;
  std::future<Sums> epochs_;
};

TEST(CutLinks, NothingIsLostOrCountedTwice) {
  const int cuts = kills_wanted(15);
  const bool thorough = cuts > 15;
  const Deadline deadline(std::chrono::seconds(90 + cuts));
  ProcessCluster cluster(2, 2, kPayload, true);
  // In the short form what is silent for two seconds is as dead as otherwise after five.
  ParameterServerStrategyOptions options;
  if (!thorough) options.dead_after = 1.0;
  EndlessTraining training(cluster, options);
  std::mt19937 random(5);
  for (int cut = 0; cut < cuts; ++cut) {
    std::this_thread::sleep_for(std::chrono::milliseconds(random() % 150));
    const int which = static_cast<int>(random() % 4);
    (which < 2 ? cluster.proxy(which) : cluster.worker_proxy(which - 2)).cut();
  }
  const auto black_out = [&](bool on) {
    for (int i = 0; i < 2; ++i) {
      cluster.proxy(i).set_silent(on);
      cluster.worker_proxy(i).set_silent(on);
    }
  };
  black_out(true);
  std::this_thread::sleep_for(thorough ? 20s : 3s);
  black_out(false);
  EXPECT_TRUE(training.wait_for_epochs(3));
  training.expect_exact_sums();
}

// Messages so large that most cuts meet one half way.
TEST(CutLinks, NothingIsLostInTheMiddleOfLargeMessages) {
  const int cuts = kills_wanted(6);
  const bool thorough = cuts > 6;
  const Deadline deadline(std::chrono::seconds(thorough ? 900 : 90));
  const std::int64_t numbers = (std::int64_t{thorough ? 256 : 16} << 20) / static_cast<std::int64_t>(sizeof(float));
  ProcessCluster cluster(2, 1, /*payload=*/1 << 20, true);
  ParameterServerStrategy strategy{distribute::SimpleClusterResolver(cluster.spec())};
  auto scope = strategy.scope();
  Variable sum(Tensor::full({numbers}, 0.0));
  distribute::ClusterCoordinator coordinator(strategy);
  // What is pushed is as large as what comes back.
  const Function step = function([&](const Tensor& one) { sum.assign_add(ops::broadcast_to(one, {numbers})); });
  std::atomic<bool> ended = false;
  std::atomic<int> done = 0;
  auto cutting = std::async(std::launch::async, [&] {
    std::mt19937 random(8);
    for (; done < cuts && !ended; ++done) {
      std::this_thread::sleep_for(std::chrono::milliseconds(thorough ? 200 + random() % 1500 : 20 + random() % 150));
      const int which = static_cast<int>(random() % 3);
      (which == 0 ? cluster.proxy(0) : cluster.worker_proxy(which - 1)).cut();
    }
  });
  int steps = 0;
  while (done < cuts) {
    for (int i = 0; i < 4; ++i, ++steps) coordinator.schedule(step, {Tensor::scalar(1.0)});
    coordinator.join();
  }
  ended = true;
  cutting.get();
  const std::vector<float> values = read_now(sum).to_vector<float>();
  EXPECT_EQ(std::count(values.begin(), values.end(), static_cast<float>(steps)), numbers) << values[0];
}

// It is the worker that is lost, not the ps, which the chief and the other worker reach; and it comes back.
TEST(CutLinks, AWorkerThatCannotReachAPsIsLeftOut) {
  const Deadline deadline(120s);
  ProcessCluster cluster(2, 2, kPayload);
  EndlessTraining training(cluster, {.dead_after = 1.0, .ps_retry = 1.0});
  cluster.proxy(1).bar(cluster.worker(0).id());
  EXPECT_TRUE(training.wait_for_epochs(10));
  std::this_thread::sleep_for(3s);
  EXPECT_TRUE(training.wait_for_epochs(10));
  // From here on it is the only one.
  cluster.proxy(1).bar(0);
  cluster.worker(1).kill();
  EXPECT_TRUE(training.wait_for_epochs(10));
  training.expect_exact_sums();
}

TEST(CutLinks, APsThatNobodyHearsOfIsLostAfterItsTime) {
  const Deadline deadline(60s);
  ProcessCluster cluster(2, 2, kPayload);
  EndlessTraining training(cluster, {.dead_after = 1.0, .ps_retry = 1.0, .ps_lost_after = 4.0});
  const auto silent = std::chrono::steady_clock::now();
  cluster.proxy(1).set_silent(true);
  EXPECT_THAT(training.error(), AllOf(StartsWith("Unavailable"), HasSubstr("ps:1")));
  const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - silent;
  EXPECT_GT(passed.count(), 3.0);
  EXPECT_LT(passed.count(), 25.0);
  cluster.proxy(1).set_silent(false);
}

// It is alive and waits for ever: others do its work, and it takes part again once it gets on.
TEST(StuckWorker, ItsWorkIsDoneByOthers) {
  const Deadline deadline(90s);
  ProcessCluster cluster(2, 2, kPayload);
  EndlessTraining training(cluster, {.stuck_after = 2.0});
  cluster.proxy(1).hold_only(cluster.worker(0).id(), TcpProxy::Hold::Requests);
  EXPECT_TRUE(training.wait_for_epochs(20));
  cluster.proxy(1).hold(TcpProxy::Hold::Nothing);
  cluster.worker(1).kill();
  EXPECT_TRUE(training.wait_for_epochs(5));
  training.expect_exact_sums();
}

// The worker goes on with its closure, and its way to the ps is open: what it sends is refused.
TEST(CutLinks, AfterCancelNothingChangesAnyMore) {
  const int rounds = kills_wanted(2);
  const Deadline deadline(std::chrono::seconds(60 + 20 * rounds));
  ProcessCluster cluster(1, 2, kPayload, true);
  ParameterServerStrategy strategy(distribute::SimpleClusterResolver(cluster.spec()),
                                   {.placement = "round_robin", .dead_after = 1.0});
  auto scope = strategy.scope();
  constexpr std::int64_t kLong = 20000;
  SummingModel model(kLong);
  for (int round = 0; round < rounds; ++round) {
    const std::uint64_t before = cluster.proxy(0).replies();
    // What it says then is of no interest here.
    auto training =
        std::async(std::launch::async, [&] { error_of([&] { model.fit(numbers(kLong), {.verbose = 0}); }); });
    while (cluster.proxy(0).replies() < before + 50) std::this_thread::sleep_for(1ms);
    if (round % 2 == 0) {
      cluster.worker_proxy(0).set_silent(true);
    } else {
      cluster.worker_proxy(0).cut();
    }
    std::raise(SIGINT);
    training.get();
    const Sums first = sums_of(model);
    const std::uint64_t pushes = cluster.proxy(0).replies();
    std::this_thread::sleep_for(rounds > 2 ? 3s : 1s);
    EXPECT_EQ(sums_of(model), first);
    EXPECT_LT(first.iterations, (round + 1) * kLong);
    EXPECT_LT(cluster.proxy(0).replies(), pushes + 10) << "the worker goes on with a closure that nobody wants";
    cluster.worker_proxy(0).set_silent(false);
  }
  // And it works again.
  const Sums before = sums_of(model);
  model.fit(numbers(100), {.verbose = 0});
  EXPECT_EQ(sums_of(model).iterations, before.iterations + 100);
}

}  // namespace
}  // namespace cohort::test
