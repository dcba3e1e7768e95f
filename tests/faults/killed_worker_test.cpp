// A worker that is killed, at any moment: what it was doing is done by others, and counts once.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <map>
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
using Hold = TcpProxy::Hold;
using testing::HasSubstr;
using testing::StartsWith;

constexpr const char *kBeforePush = "before the push", *kBetweenServers = "between two ps",
                     *kBeforeReply = "after apply and before the reply";

// How far the current step had come, by what the proxies have let through; under freeze().
const char* phase_of(ProcessCluster& cluster, pid_t worker) {
  const TcpProxy::Traffic first = cluster.proxy(0).traffic_of(worker), second = cluster.proxy(1).traffic_of(worker);
  if (first.requests != second.requests) return kBetweenServers;
  const bool answered = first.replies == first.requests && second.replies == second.requests;
  return answered ? kBeforePush : kBeforeReply;
}

// Kills a worker in the middle of what it does; what it has on the way is lost with it.
const char* kill_worker(ProcessCluster& cluster, ServerProcess& worker) {
  const auto first = cluster.proxy(0).freeze(), second = cluster.proxy(1).freeze();
  const pid_t id = worker.id();
  const char* phase = phase_of(cluster, id);
  worker.kill();
  for (int i = 0; i < 2; ++i) cluster.proxy(i).drop(id);
  return phase;
}

bool has_pushed(ProcessCluster& cluster, const ServerProcess& worker) {
  const auto lock = cluster.proxy(0).freeze();
  return cluster.proxy(0).traffic_of(worker.id()).replies > 0;
}

using Training = std::future<Sums>;

template <class Result>
bool goes_on(const std::future<Result>& training) {
  return training.wait_for(0s) == std::future_status::timeout;
}

template <class Train>
Training start_training(ProcessCluster& cluster, Train train) {
  return std::async(std::launch::async, [&cluster, train] {
    distribute::ParameterServerStrategy strategy(distribute::SimpleClusterResolver(cluster.spec()), kOnBothServers);
    return train(strategy);
  });
}

// Kills come so far apart that a function rarely meets three of them, which would count against it.
constexpr std::int64_t kStepsBetweenKills = 120;

template <class Train>
void kill_at_random(std::int64_t kills, std::uint32_t seed, std::int64_t elements, Train train) {
  const Deadline deadline(std::chrono::seconds(60 + 3 * kills));
  ProcessCluster cluster(3, 2, kPayload);
  Training training = start_training(cluster, train);
  std::mt19937 random(seed);
  std::map<std::string, int> phases;
  for (std::int64_t kill = 0; kill < kills; ++kill) {
    const auto progress = static_cast<std::uint64_t>(kill * kStepsBetweenKills + 20 + random() % 40);
    while (cluster.proxy(0).replies() < progress && goes_on(training)) std::this_thread::sleep_for(1ms);
    ServerProcess* worker = &cluster.worker(static_cast<int>(random() % 3));
    while (!has_pushed(cluster, *worker) && goes_on(training)) {
      worker = &cluster.worker(static_cast<int>(random() % 3));
      std::this_thread::sleep_for(1ms);
    }
    if (!goes_on(training)) break;
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 2000));
    ++phases[kill_worker(cluster, *worker)];
    worker->start();
  }
  const Sums sums = training.get();
  int total = 0;
  std::printf("killed (seed %u):", seed);
  for (const auto& [phase, times] : phases) {
    std::printf(" %d %s;", times, phase.c_str());
    total += times;
  }
  std::printf("\n");
  EXPECT_EQ(total, kills);
  EXPECT_EQ(sums, expected_sums(elements));
}

TEST(KilledWorker, EveryElementCountsOnceInFit) {
  const int kills = kills_wanted(20);
  const std::int64_t elements = (kills + 1) * kStepsBetweenKills;
  kill_at_random(kills, 20260401, elements, [elements](const auto& strategy) { return fit_sums(strategy, elements); });
}

TEST(KilledWorker, EveryElementCountsOnceInALoopOfOnesOwn) {
  const std::int64_t elements = 5 * kStepsBetweenKills;
  kill_at_random(4, 7, elements, [elements](const auto& strategy) { return schedule_sums(strategy, elements); });
}

// Holds messages of all workers up at some point of a step and kills one that has come there.
class AtEveryPhase {
 public:
  explicit AtEveryPhase(ProcessCluster& cluster) : cluster_(cluster) {}
  // What the proxies are to hold, before each ps, so that the worker stops in that phase.
  void kill_when_held(Hold first, Hold second, const char* phase) {
    // The function that met the death before must be done: three of them would count against it.
    wait_until([&](const auto& traffic, const auto&) { return traffic.replies > 20; });
    do {
      // Begun in the middle of a step it may stop it elsewhere: then once more.
      hold(Hold::Nothing, Hold::Nothing);
      std::this_thread::sleep_for(3ms);
      hold(first, second);
      wait_until([&](const auto& one, const auto& two) { return one.held || two.held; });
      std::this_thread::sleep_for(20ms);
    } while (present_phase() != phase);
    EXPECT_STREQ(kill_worker(cluster_, cluster_.worker(0)), phase);
    hold(Hold::Nothing, Hold::Nothing);
    cluster_.worker(0).start();
  }

 private:
  void hold(Hold first, Hold second) {
    const auto locks = std::pair(cluster_.proxy(0).freeze(), cluster_.proxy(1).freeze());
    cluster_.proxy(0).hold(first);
    cluster_.proxy(1).hold(second);
  }
  const char* present_phase() {
    const auto locks = std::pair(cluster_.proxy(0).freeze(), cluster_.proxy(1).freeze());
    return phase_of(cluster_, cluster_.worker(0).id());
  }
  template <class Question>
  void wait_until(const Question& question) {
    for (;;) {
      {
        const auto locks = std::pair(cluster_.proxy(0).freeze(), cluster_.proxy(1).freeze());
        const pid_t id = cluster_.worker(0).id();
        if (question(cluster_.proxy(0).traffic_of(id), cluster_.proxy(1).traffic_of(id))) return;
      }
      std::this_thread::sleep_for(1ms);
    }
  }
  ProcessCluster& cluster_;
};

// One worker alone and with another one that meanwhile goes on.
class KilledAt : public testing::TestWithParam<int> {};

TEST_P(KilledAt, EveryPhaseOfAStep) {
  const Deadline deadline(60s);
  ProcessCluster cluster(GetParam(), 2, kPayload);
  constexpr std::int64_t kElements = 3000;
  Training training = start_training(cluster, [](const auto& strategy) { return fit_sums(strategy, kElements); });
  AtEveryPhase phases(cluster);
  phases.kill_when_held(Hold::Requests, Hold::Requests, kBeforePush);
  phases.kill_when_held(Hold::Nothing, Hold::Requests, kBetweenServers);
  phases.kill_when_held(Hold::Replies, Hold::Replies, kBeforeReply);
  EXPECT_TRUE(goes_on(training));
  EXPECT_EQ(training.get(), expected_sums(kElements));
}

INSTANTIATE_TEST_SUITE_P(Workers, KilledAt, testing::Values(1, 2));

// Between two trainings workers have nothing to do, and a restarted one has to be told everything first.
TEST(KilledWorker, ManyDeathsAtOnceAreNoFunctionsFault) {
  const int kills = kills_wanted(10);
  const Deadline deadline(std::chrono::seconds(60 + 3 * kills));
  ProcessCluster cluster(3, 2);
  std::atomic<bool> killing = true;
  constexpr std::int64_t kElements = 150;
  auto training = std::async(std::launch::async, [&] {
    distribute::ParameterServerStrategy strategy(distribute::SimpleClusterResolver(cluster.spec()), kOnBothServers);
    auto scope = strategy.scope();
    SummingModel model;
    int epochs = 0;
    do {
      model.fit(numbers(kElements), {.verbose = 0});
      ++epochs;
      std::this_thread::sleep_for(std::chrono::milliseconds(epochs % 3 * 20));
    } while (killing);
    return std::pair(epochs, sums_of(model));
  });
  std::this_thread::sleep_for(300ms);
  std::mt19937 random(11);
  const auto start = std::chrono::steady_clock::now();
  for (int kill = 0; kill < kills; ++kill) {
    std::this_thread::sleep_until(start + kill * 190ms);
    ServerProcess& worker = cluster.worker(static_cast<int>(random() % 3));
    worker.kill();
    worker.start();
  }
  killing = false;
  const auto [epochs, sums] = training.get();
  std::printf("%d deaths in %.1f s, %d epochs\n", kills,
              std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(), epochs);
  EXPECT_EQ(sums, expected_sums(kElements, epochs));
}

// Whichever worker has begun it dies: here because the test sees to it.
TEST(KilledWorker, AFunctionThatTakesThreeWithItIsGivenUp) {
  const Deadline deadline(60s);
  ProcessCluster cluster(4, 2, kPayload);
  std::promise<void> warm, holding;
  auto training = std::async(std::launch::async, [&] {
    distribute::ParameterServerStrategy strategy(distribute::SimpleClusterResolver(cluster.spec()), kOnBothServers);
    auto scope = strategy.scope();
    SummingModel model;
    model.fit(numbers(2000), {.verbose = 0});
    warm.set_value();
    holding.get_future().wait();
    return error_of([&] { model.fit(numbers(1), {.verbose = 0}); });
  });
  // From here on everyone has what it needs to push at once.
  warm.get_future().wait();
  for (int worker = 0; worker < cluster.num_workers(); ++worker) {
    EXPECT_TRUE(has_pushed(cluster, cluster.worker(worker)));
  }
  for (int i = 0; i < 2; ++i) cluster.proxy(i).hold(Hold::Requests);
  holding.set_value();
  const auto has_begun = [&](int worker) {
    const auto lock = cluster.proxy(0).freeze();
    return cluster.proxy(0).traffic_of(cluster.worker(worker).id()).held;
  };
  std::vector<int> killed;
  while (killed.size() < 3 && goes_on(training)) {
    std::this_thread::sleep_for(2ms);
    for (int worker = 0; worker < cluster.num_workers(); ++worker) {
      if (cluster.worker(worker).id() < 0 || !has_begun(worker)) continue;
      kill_worker(cluster, cluster.worker(worker));
      killed.push_back(worker);
    }
  }
  const std::string error = training.get();
  EXPECT_EQ(killed.size(), 3u);
  EXPECT_THAT(error, StartsWith("Aborted"));
  for (const int worker : killed) EXPECT_THAT(error, HasSubstr("worker:" + std::to_string(worker)));
  for (int worker = 0; worker < cluster.num_workers(); ++worker) {
    EXPECT_FALSE(has_begun(worker)) << "the function was given to a fourth one";
  }
}

}  // namespace
}  // namespace cohort::test
