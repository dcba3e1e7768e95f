#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>

#include "cohort/distribute/cluster/free_ports.h"
#include "tests/distribute/collective/rank_process.h"
#include "tests/distribute/collective/ranks.h"
#include "tests/support/patience.h"

namespace cohort::distribute::collective::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;
using namespace std::chrono_literals;
using LossClock = std::chrono::steady_clock;

// Ranks 0 and 1 are threads, rank 2 is a process that is lost while all of them work.
class LostRank : public testing::TestWithParam<const char*> {
 protected:
  void lose(int signal_number, std::chrono::milliseconds dead_after, std::chrono::milliseconds within) {
    CommunicatorSetUp set_up;
    for (const int port : free_ports(3)) set_up.addresses.push_back("127.0.0.1:" + std::to_string(port));
    set_up.options.transport = GetParam();
    set_up.options.dead_after = dead_after;
    set_up.rank = 2;
    const RankProcess process(set_up);
    std::vector<std::string> errors(2);
    std::vector<LossClock::time_point> ends(2);
    std::atomic<int> started = 0;
    std::vector<std::thread> threads;
    for (int rank = 0; rank < 2; ++rank) {
      threads.emplace_back([&, rank] {
        CommunicatorSetUp own = set_up;
        own.rank = rank;
        errors[static_cast<std::size_t>(rank)] = cohort::test::error_of([&] {
          const auto communicator = make_communicator(own);
          ++started;
          reduce_for_ever(*communicator);
        });
        ends[static_cast<std::size_t>(rank)] = LossClock::now();
      });
    }
    while (started < 2) std::this_thread::sleep_for(1ms);
    std::this_thread::sleep_for(100ms);
    const auto lost = LossClock::now();
    process.signal(signal_number);
    for (std::thread& thread : threads) thread.join();
    for (std::size_t rank = 0; rank < 2; ++rank) {
      EXPECT_THAT(errors[rank], AllOf(StartsWith("Unavailable "), HasSubstr("worker:2")));
      EXPECT_LT(ends[rank] - lost, cohort::test::patience(within));
      EXPECT_GT(ends[rank], lost);
    }
  }
};

TEST_P(LostRank, KilledIsKnownAtOnce) { lose(SIGKILL, 30s, 2s); }

TEST_P(LostRank, StoppedIsKnownWhenItIsSilentForTooLong) { lose(SIGSTOP, 1s, 3s); }

INSTANTIATE_TEST_SUITE_P(Transports, LostRank, testing::Values("shm", "tcp", "grpc"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace cohort::distribute::collective::test
