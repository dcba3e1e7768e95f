// Tasks that go for good, that stand still for a while, and that come back.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <thread>

#include "tests/faults/summing.h"
#include "tests/support/deadline.h"
#include "tests/support/error_of.h"
#include "tests/support/process_cluster.h"

namespace cohort::test {
namespace {

using namespace std::chrono_literals;
using distribute::ClusterRuntime;
using distribute::ParameterServerStrategy;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;
using SteadyClock = std::chrono::steady_clock;

ParameterServerStrategy strategy_of(ProcessCluster& cluster, std::chrono::milliseconds worker_timeout = 60s) {
  distribute::ClusterRuntimeOptions options;
  options.dispatch.worker_timeout = worker_timeout;
  options.connections.ps_lost_after = 8s;
  return ParameterServerStrategy(std::make_shared<ClusterRuntime>(cluster.spec(), options), kOnBothServers);
}

// Far more than can be done before a test ends.
constexpr std::int64_t kEndless = 1'000'000;

double seconds_since(SteadyClock::time_point start) {
  return std::chrono::duration<double>(SteadyClock::now() - start).count();
}

template <class Train>
void expect_to_name_the_lost_server(const Train& train) {
  const Deadline deadline(60s);
  ProcessCluster cluster(2, 2);
  auto training = std::async(std::launch::async, [&] {
    ParameterServerStrategy strategy = strategy_of(cluster);
    return std::pair(error_of([&] { train(strategy); }), SteadyClock::now());
  });
  std::this_thread::sleep_for(1500ms);
  const auto killed = SteadyClock::now();
  cluster.server(1).kill();
  const auto [error, thrown] = training.get();
  EXPECT_THAT(error, AllOf(StartsWith("Unavailable"), HasSubstr("ps:1")));
  EXPECT_LT(std::chrono::duration<double>(thrown - killed).count(), 6.0);
  EXPECT_LT(seconds_since(killed), 10.0);
}

TEST(LostParameterServer, FitNamesIt) {
  expect_to_name_the_lost_server([](const auto& strategy) { fit_sums(strategy, kEndless); });
}

TEST(LostParameterServer, ScheduleOrJoinNamesIt) {
  expect_to_name_the_lost_server([](const auto& strategy) { schedule_sums(strategy, kEndless); });
}

// What ends a fit that does not end by itself.
std::future<std::string> endless_training(ProcessCluster& cluster) {
  return std::async(std::launch::async, [&cluster] {
    ParameterServerStrategy strategy = strategy_of(cluster);
    return error_of([&] { fit_sums(strategy, kEndless); });
  });
}

// It has lost its variables, so that it answers again is no help.
TEST(LostParameterServer, ItIsLostAlsoWhenItIsStartedAgain) {
  const Deadline deadline(60s);
  ProcessCluster cluster(2, 2);
  auto training = endless_training(cluster);
  std::this_thread::sleep_for(1500ms);
  cluster.server(0).kill();
  cluster.server(0).start();
  EXPECT_THAT(training.get(), AllOf(StartsWith("Unavailable"), HasSubstr("ps:0")));
}

// Ends a training with the epoch in which it is told to, and counts epochs.
class EndsWhenTold : public Callback {
 public:
  EndsWhenTold(const std::atomic<bool>& told, std::atomic<int>& epochs) : told_(told), epochs_(epochs) {}
  void on_epoch_end(std::int64_t, Logs&) override {
    ++epochs_;
    if (told_) model().stop_training = true;
  }
  BatchHooks batch_hooks() const override { return BatchHooks::None; }

 private:
  const std::atomic<bool>& told_;
  std::atomic<int>& epochs_;
};

// Silent for less time than makes a task dead: all wait for it, and nothing is lost or counted twice.
TEST(PausedServer, AShortRestChangesNothing) {
  constexpr std::int64_t kElements = 1000;
  const Deadline deadline(60s);
  ProcessCluster cluster(2, 2);
  std::atomic<bool> may_end = false;
  std::atomic<int> epochs = 0;
  auto training = std::async(std::launch::async, [&] {
    ParameterServerStrategy strategy = strategy_of(cluster);
    auto scope = strategy.scope();
    SummingModel model;
    model.fit(numbers(kElements),
              {.epochs = kEndless / kElements, .verbose = 0, .callbacks = {make<EndsWhenTold>(may_end, epochs)}});
    return sums_of(model);
  });
  ASSERT_TRUE(becomes_true([&] { return epochs > 0; }));
  cluster.server(1).pause();
  std::this_thread::sleep_for(1s);
  const int before = epochs;
  std::this_thread::sleep_for(1s);
  EXPECT_EQ(epochs, before);
  cluster.server(1).go_on();
  may_end = true;
  const Sums sums = training.get();
  EXPECT_EQ(sums, expected_sums(kElements, epochs));
  EXPECT_GT(epochs, before);
}

TEST(PausedServer, OneThatStaysSilentIsNamed) {
  const Deadline deadline(60s);
  ProcessCluster cluster(2, 2);
  auto training = endless_training(cluster);
  std::this_thread::sleep_for(1500ms);
  const auto paused = SteadyClock::now();
  cluster.server(1).pause();
  EXPECT_THAT(training.get(), AllOf(StartsWith("Unavailable"), HasSubstr("ps:1")));
  EXPECT_LT(seconds_since(paused), 20.0);
}

// The chief takes it for dead and gives its work to others; what it sends when it wakes up has been counted.
TEST(PausedWorker, LatePushesChangeNothing) {
  const Deadline deadline(90s);
  ProcessCluster cluster(2, 2);
  std::promise<void> woken;
  auto training = std::async(std::launch::async, [&] {
    ParameterServerStrategy strategy = strategy_of(cluster);
    auto scope = strategy.scope();
    SummingModel model;
    std::vector<Sums> sums;
    model.fit(numbers(8000), {.verbose = 0});
    sums.push_back(sums_of(model));
    woken.get_future().wait();
    sums.push_back(sums_of(model));
    model.fit(numbers(600), {.verbose = 0});
    sums.push_back(sums_of(model));
    return sums;
  });
  std::this_thread::sleep_for(800ms);
  cluster.worker(0).pause();
  std::this_thread::sleep_for(8s);
  cluster.worker(0).go_on();
  std::this_thread::sleep_for(1s);
  woken.set_value();
  const std::vector<Sums> sums = training.get();
  EXPECT_EQ(sums[0], expected_sums(8000));
  EXPECT_EQ(sums[1], sums[0]);
  const Sums more = expected_sums(600);
  EXPECT_EQ(sums[2].weights[0], sums[0].weights[0] + more.weights[0]);
  EXPECT_EQ(sums[2].weights[1], sums[0].weights[1] + more.weights[1]);
  EXPECT_EQ(sums[2].iterations, 8600);
}

TEST(LostWorkers, AllOfThemAreNamedAfterTheTimeout) {
  const Deadline deadline(60s);
  ProcessCluster cluster(2, 1);
  auto training = std::async(std::launch::async, [&] {
    ParameterServerStrategy strategy = strategy_of(cluster, 2s);
    return error_of([&] { fit_sums(strategy, kEndless); });
  });
  std::this_thread::sleep_for(1s);
  const auto killed = SteadyClock::now();
  cluster.worker(0).kill();
  cluster.worker(1).kill();
  EXPECT_THAT(training.get(), AllOf(StartsWith("Unavailable"), HasSubstr("worker:0"), HasSubstr("worker:1")));
  EXPECT_GT(seconds_since(killed), 2.0);
  EXPECT_LT(seconds_since(killed), 8.0);
}

// After an error the strategy serves again, as soon as there is somebody to work.
TEST(LostWorkers, OneThatIsBackTakesPartAgain) {
  const Deadline deadline(60s);
  ProcessCluster cluster(1, 2);
  std::promise<void> failed, back;
  auto training = std::async(std::launch::async, [&] {
    ParameterServerStrategy strategy = strategy_of(cluster, 1s);
    fit_sums(strategy, 50);
    const std::string error = error_of([&] {
      failed.set_value();
      fit_sums(strategy, kEndless);
    });
    back.get_future().wait();
    return std::pair(error, fit_sums(strategy, 200));
  });
  failed.get_future().wait();
  std::this_thread::sleep_for(300ms);
  cluster.worker(0).kill();
  std::this_thread::sleep_for(3s);
  cluster.worker(0).start();
  back.set_value();
  const auto [error, sums] = training.get();
  EXPECT_THAT(error, AllOf(StartsWith("Unavailable"), HasSubstr("worker:0")));
  EXPECT_EQ(sums, expected_sums(200));
}

}  // namespace
}  // namespace cohort::test
