// What a worker asks of several parameter servers it asks at once.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <optional>

#include "cohort/cohort.h"
#include "cohort/distribute/protocol/message_flags.h"
#include "tests/distribute/watched_cluster.h"
#include "tests/support/delayed_transport.h"
#include "tests/support/patience.h"

namespace cohort::distribute::test {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

struct Times {
  std::chrono::duration<double> first, pull, push;
};

// With a variable on each ps: seconds of the first closure, which also reaches them; of a closure that only reads; and
// of one step that also writes.
Times times_with(int num_ps, std::chrono::milliseconds delay, const char* transport) {
  WatchedCluster cluster({{"worker", 1}, {"ps", num_ps}},
                         rpc::TransportOptions{.transport = transport, .wrap = cohort::test::delayed_transport(delay)});
  const ParameterServerStrategy strategy(cluster.resolver(), {.placement = "round_robin", .transport = transport});
  auto scope = strategy.scope();
  std::vector<Variable> variables;
  for (int i = 0; i < num_ps; ++i) variables.push_back(Variable(Tensor::full({2}, 1.0)));
  ClusterCoordinator coordinator(strategy);
  const auto sum_of_all = [&] {
    Tensor sum = variables[0].value();
    for (std::size_t i = 1; i < variables.size(); ++i) sum = sum + variables[i];
    return sum;
  };
  const Function read = function([&] { return sum_of_all(); });
  const Function write = function([&] {
    const Tensor sum = sum_of_all();
    for (Variable variable : variables) variable.assign_add(sum);
    return sum;
  });
  const auto seconds = [&](const Function& what, int closures) {
    const auto start = Clock::now();
    for (int i = 0; i < closures; ++i) coordinator.schedule(what).fetch();
    return std::chrono::duration<double>(Clock::now() - start) / closures;
  };
  Times times;
  times.first = seconds(read, 1);
  times.pull = seconds(read, 5);
  seconds(write, 1);
  times.push = seconds(write, 5);
  return times;
}

class SideBySide : public testing::TestWithParam<const char*> {};

TEST_P(SideBySide, SixteenServersTakeNoLongerThanTwiceOne) {
  constexpr auto kDelay = 20ms;
  const Times one = times_with(1, kDelay, GetParam());
  EXPECT_GE(one.pull, kDelay);
  EXPECT_GE(one.push, kDelay);
  const Times longest{2 * one.first + cohort::test::patience(100ms), 2 * one.pull, 2 * one.push};
  Times many = times_with(16, kDelay, GetParam());
  const auto in_time = [&] {
    return many.first <= longest.first && many.pull <= longest.pull && many.push <= longest.push;
  };
  for (int tries = 1; tries < 5 && !in_time(); ++tries) {  // others compute too
    many = times_with(16, kDelay, GetParam());
  }
  EXPECT_LE(many.first, longest.first);
  EXPECT_LE(many.pull, longest.pull);
  EXPECT_LE(many.push, longest.push);
}

// Messages so large that each server has a thread that moves them.
TEST_P(SideBySide, LargeMessagesArriveWhole) {
  constexpr std::int64_t kNumbers = 1'500'000;
  WatchedCluster cluster({{"worker", 1}, {"ps", 3}}, GetParam());
  const ParameterServerStrategy strategy(cluster.resolver(), {.placement = "round_robin", .transport = GetParam()});
  auto scope = strategy.scope();
  std::vector<Variable> variables;
  for (int i = 0; i < 3; ++i) variables.push_back(Variable(Tensor::full({kNumbers}, 1.0)));
  ClusterCoordinator coordinator(strategy);
  const Function step = function([&] {
    const Tensor sum = variables[0].value() + variables[1] + variables[2];
    for (Variable variable : variables) variable.assign_add(sum);
  });
  for (int i = 0; i < 3; ++i) coordinator.schedule(step);
  coordinator.join();
  for (const Variable& variable : variables) {
    const std::vector<float> values = read_now(variable).to_vector<float>();
    EXPECT_EQ(std::count(values.begin(), values.end(), 64.0f), kNumbers);
  }
}

INSTANTIATE_TEST_SUITE_P(Transports, SideBySide, testing::Values("auto", "grpc"));

// A worker that others have left behind looks again where the strategy bounds how far.
TEST(Staleness, AReplicaThatIsTooOldIsPulledBeforeItIsUsed) {
  for (const std::optional<std::int64_t> bound :
       {std::optional<std::int64_t>(), std::optional<std::int64_t>(100), std::optional<std::int64_t>(3)}) {
    WatchedCluster cluster({{"worker", 1}, {"ps", 1}});
    const ParameterServerStrategy strategy(cluster.resolver(), {.max_staleness = bound});
    auto scope = strategy.scope();
    Variable weight(Tensor::scalar(1.0));
    ClusterCoordinator coordinator(strategy);
    // What the step reads, before what it adds.
    const Function step = function([&] {
      const Tensor seen = weight.value() * 1.0;
      weight.assign_add(Tensor::scalar(1.0));
      return seen;
    });
    const auto run = [&] { return Tensor(coordinator.schedule(step).fetch()).item<float>(); };
    EXPECT_EQ(run(), 1.0f);
    // Another worker's pushes, as the ps sees them.
    cluster.keep_requests();
    EXPECT_EQ(run(), 2.0f);
    Message push, reply;
    for (const Seen& seen : cluster.take_seen()) {
      if (seen.method == Method::Exchange && !(seen.request.head.flags & kPull)) push = seen.request;
    }
    const auto connection = rpc::connect({"ps:0", cluster.spec().task_address("ps", 0)});
    const auto stream = connection->open();
    for (int i = 0; i < 5; ++i) {
      push.head.closure = 1'000'000 + static_cast<std::uint64_t>(i);
      stream->call(push, reply);
    }
    EXPECT_EQ(run(), bound && *bound < 5 ? 8.0f : 3.0f);
    EXPECT_EQ(read_now(weight).item<float>(), 9.0f);
  }
}

}  // namespace
}  // namespace cohort::distribute::test
