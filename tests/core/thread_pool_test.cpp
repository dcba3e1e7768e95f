#include "cohort/core/thread_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <ctime>
#include <functional>
#include <mutex>
#include <numeric>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "cohort/core/error.h"
#include "cohort/core/thread_share.h"

namespace cohort {
namespace {

using namespace std::chrono_literals;

// Comes back when all have arrived: for blocks that need a thread each. False after ten seconds.
bool meet(std::atomic<int>& arrived, int all) {
  const auto end = std::chrono::steady_clock::now() + 10s;
  ++arrived;
  while (arrived < all && std::chrono::steady_clock::now() < end) std::this_thread::yield();
  return arrived >= all;
}

class ThreadPoolTest : public testing::Test {
 protected:
  ThreadPoolTest() : before_(pool_.threads()) {}
  ~ThreadPoolTest() override { pool_.set_threads(before_); }
  ThreadPool& pool_ = ThreadPool::instance();
  int before_;
};

TEST_F(ThreadPoolTest, RunsEveryBlockOnce) {
  for (int threads : {1, 2, 4, 9}) {
    pool_.set_threads(threads);
    EXPECT_EQ(pool_.threads(), threads);
    for (std::int64_t blocks : {0, 1, 2, 3, 7, 100, 1000}) {
      std::vector<std::atomic<int>> calls(static_cast<std::size_t>(blocks));
      pool_.run_blocks(blocks, [&](std::int64_t i) { ++calls[static_cast<std::size_t>(i)]; });
      for (const auto& count : calls) ASSERT_EQ(count, 1);
    }
  }
}

TEST_F(ThreadPoolTest, EveryThreadBeginsWithItsOwnPartOfAnyJob) {
  constexpr int kThreads = 3, kBlocksOfAPart = 2;
  pool_.set_threads(kThreads);
  std::vector<std::thread::id> before;
  for (int job = 0; job < 100; ++job) {
    std::vector<std::thread::id> first(kThreads);
    std::atomic<int> arrived{0};
    pool_.run_blocks(kThreads * kBlocksOfAPart, [&](std::int64_t block) {
      if (arrived == kThreads) return;  // all have begun: what is left is whoever's
      ASSERT_EQ(block % kBlocksOfAPart, 0);
      first[static_cast<std::size_t>(block / kBlocksOfAPart)] = std::this_thread::get_id();
      ASSERT_TRUE(meet(arrived, kThreads));
    });
    EXPECT_EQ(first[0], std::this_thread::get_id());
    if (job > 0) {
      EXPECT_EQ(first, before);
    }
    before = first;
  }
}

TEST_F(ThreadPoolTest, ManyShortJobsLoseNothing) {
  pool_.set_threads(4);
  std::int64_t total = 0;
  for (int job = 0; job < 20000; ++job) {
    std::atomic<std::int64_t> sum{0};
    pool_.run_blocks(3, [&](std::int64_t i) { sum.fetch_add(i + 1, std::memory_order_relaxed); });
    total += sum;
  }
  EXPECT_EQ(total, 6 * 20000);
}

TEST_F(ThreadPoolTest, WakesSleepingWorkers) {
  pool_.set_threads(2);
  for (int i = 0; i < 20; ++i) {
    std::this_thread::sleep_for(2ms);
    std::atomic<int> arrived{0};
    pool_.run_blocks(2, [&](std::int64_t) { EXPECT_TRUE(meet(arrived, 2)); });
  }
}

TEST_F(ThreadPoolTest, CallerSleepsThroughALongLastBlock) {
  pool_.set_threads(2);
  std::atomic<int> done{0};
  std::atomic<bool> taken{false};
  const std::thread::id caller = std::this_thread::get_id();
  pool_.run_blocks(2, [&](std::int64_t) {
    if (std::this_thread::get_id() != caller) {
      taken = true;
      std::this_thread::sleep_for(20ms);
    } else {
      while (!taken) std::this_thread::yield();
    }
    ++done;
  });
  EXPECT_EQ(done, 2);
}

TEST_F(ThreadPoolTest, RethrowsTheLowestBlocksExceptionAfterAllBlocksEnded) {
  for (int threads : {1, 4}) {
    pool_.set_threads(threads);
    for (int repeat = 0; repeat < 50; ++repeat) {
      std::atomic<int> ended{0};
      try {
        pool_.run_blocks(16, [&](std::int64_t i) {
          ++ended;
          if (i % 5 == 3) throw std::runtime_error("block " + std::to_string(i));
        });
        FAIL() << "no exception";
      } catch (const std::runtime_error& error) {
        EXPECT_STREQ(error.what(), "block 3");
      }
      EXPECT_EQ(ended, 16);
    }
    std::atomic<int> after{0};
    pool_.run_blocks(8, [&](std::int64_t) { ++after; });
    EXPECT_EQ(after, 8);
  }
}

TEST_F(ThreadPoolTest, NestedCallsRunEveryBlockOnce) {
  for (int threads : {1, 2, 4}) {
    pool_.set_threads(threads);
    std::vector<std::atomic<int>> calls(8 * 8 * 3);
    pool_.run_blocks(8, [&](std::int64_t i) {
      pool_.run_blocks(8, [&](std::int64_t j) {
        pool_.run_blocks(3, [&](std::int64_t k) { ++calls[static_cast<std::size_t>((i * 8 + j) * 3 + k)]; });
      });
    });
    for (const auto& count : calls) ASSERT_EQ(count, 1);
  }
}

TEST_F(ThreadPoolTest, IdleWorkersHelpWithANestedJob) {
  pool_.set_threads(3);
  pool_.run_blocks(2, [&](std::int64_t i) {
    if (i == 0) return;
    std::atomic<int> arrived{0};
    pool_.run_blocks(2, [&](std::int64_t) { EXPECT_TRUE(meet(arrived, 2)); });
  });
}

TEST_F(ThreadPoolTest, SeveralCallersAtOnce) {
  for (int threads : {1, 2, 3, 8}) {
    pool_.set_threads(threads);
    std::atomic<std::int64_t> total{0};
    std::vector<std::thread> callers;
    for (int caller = 0; caller < 4; ++caller) {
      callers.emplace_back([&] {
        for (int job = 0; job < 2000; ++job) {
          std::int64_t parts[5] = {};
          pool_.run_blocks(5, [&](std::int64_t i) { parts[i] = i; });
          total += std::accumulate(parts, parts + 5, std::int64_t{0});
        }
      });
    }
    for (std::thread& caller : callers) caller.join();
    EXPECT_EQ(total, 4 * 2000 * 10);
  }
}

TEST_F(ThreadPoolTest, EveryCallerHasHelpAtTheSameTime) {
  pool_.set_threads(6);
  for (int repeat = 0; repeat < 20; ++repeat) {
    std::atomic<int> arrived{0};
    std::vector<std::thread> callers;
    for (int caller = 0; caller < 3; ++caller) {
      callers.emplace_back([&] { pool_.run_blocks(2, [&](std::int64_t) { EXPECT_TRUE(meet(arrived, 6)); }); });
    }
    for (std::thread& caller : callers) caller.join();
  }
}

TEST_F(ThreadPoolTest, CallersThatComeAndGoLoseNothing) {
  pool_.set_threads(3);
  std::atomic<std::int64_t> total{0};
  std::vector<std::thread> starters;
  for (int starter = 0; starter < 3; ++starter) {
    starters.emplace_back([&] {
      for (int i = 0; i < 40; ++i) {
        std::thread([&] {
          for (int job = 0; job < 20; ++job) {
            pool_.run_blocks(7, [&](std::int64_t block) {
              pool_.run_blocks(2, [&](std::int64_t inner) { total += block * 2 + inner; });
            });
          }
        }).join();
      }
    });
  }
  for (std::thread& starter : starters) starter.join();
  EXPECT_EQ(total, 3 * 40 * 20 * (13 * 14 / 2));
}

TEST_F(ThreadPoolTest, MoreCallersThanThereIsRoomForComputeAlone) {
  pool_.set_threads(2);
  std::atomic<int> calls{0};
  std::function<void(int)> nest = [&](int depth) {
    pool_.run_blocks(2, [&](std::int64_t block) {
      ++calls;
      if (block == 0 && depth > 0) nest(depth - 1);
    });
  };
  nest(150);
  EXPECT_EQ(calls, 151 * 2);
}

TEST_F(ThreadPoolTest, EveryCallerGetsTheExceptionOfItsOwnLowestBlock) {
  pool_.set_threads(4);
  std::atomic<int> wrong{0};
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 4; ++caller) {
    callers.emplace_back([&, caller] {
      for (int job = 0; job < 300; ++job) {
        const std::string expected = std::to_string(caller) + " " + std::to_string(caller + 2);
        std::string got;
        try {
          pool_.run_blocks(12, [&](std::int64_t block) {
            if (caller < 3 && block >= caller + 2) {
              throw std::runtime_error(std::to_string(caller) + " " + std::to_string(block));
            }
          });
        } catch (const std::runtime_error& error) {
          got = error.what();
        }
        wrong += got != (caller < 3 ? expected : "");
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  EXPECT_EQ(wrong, 0);
}

// All workers are in the long job when the short one comes: its second block gets the first worker that ends a block.
TEST_F(ThreadPoolTest, AShortJobWaitsForOneBlockOfALongOneAtMost) {
  pool_.set_threads(3);
  std::atomic<int> begun{0}, ends{0};
  std::atomic<bool> short_done{false};
  std::thread long_caller([&] {
    const std::thread::id caller = std::this_thread::get_id();
    pool_.run_blocks(60, [&](std::int64_t) {
      ++begun;
      // A worker ends its block when it may, the caller when the short job is done.
      while (!short_done) {
        int left = ends;
        if (std::this_thread::get_id() != caller && left > 0 && ends.compare_exchange_strong(left, left - 1)) return;
        std::this_thread::yield();
      }
    });
  });
  while (begun < 3) std::this_thread::yield();
  std::atomic<int> entered{0}, arrived{0};
  const int begun_before = begun;
  std::atomic<int> begun_after{0};
  pool_.run_blocks(2, [&](std::int64_t) {
    if (entered++ == 0) {
      ends = 1;
    } else {
      begun_after = begun.load();
    }
    EXPECT_TRUE(meet(arrived, 2));
  });
  short_done = true;
  long_caller.join();
  EXPECT_EQ(begun, 60);
  EXPECT_EQ(begun_after, begun_before);
}

TEST_F(ThreadPoolTest, AShareLimitsTheThreadsOfAJob) {
  pool_.set_threads(4);
  const auto threads_of_a_job = [&] {
    std::mutex mutex;
    std::set<std::thread::id> ids;
    for (int job = 0; job < 50; ++job) {
      pool_.run_blocks(16, [&](std::int64_t) {
        EXPECT_LE(pool_.threads(), 2);
        std::this_thread::sleep_for(20us);
        std::lock_guard lock(mutex);
        ids.insert(std::this_thread::get_id());
      });
    }
    return ids.size();
  };
  {
    const ThreadShare share(2);
    EXPECT_EQ(pool_.threads(), 2);
    const ThreadShare larger(3);
    EXPECT_EQ(pool_.threads(), 2);
    std::atomic<int> at_once{0}, most{0};
    pool_.run_blocks(64, [&](std::int64_t) {
      const int now = ++at_once;
      for (int seen = most; seen < now && !most.compare_exchange_weak(seen, now);) {
      }
      std::this_thread::sleep_for(200us);
      --at_once;
    });
    EXPECT_LE(most, 2);
    EXPECT_GE(threads_of_a_job(), 1u);
    const ThreadShare alone(1);
    EXPECT_EQ(threads_of_a_job(), 1u);
  }
  EXPECT_EQ(pool_.threads(), 4);
  EXPECT_THROW(ThreadShare(-1), Error);
}

TEST_F(ThreadPoolTest, ThreadsChangeOnlyWhileNobodyWorks) {
  pool_.set_threads(2);
  std::atomic<bool> begun{false}, end{false};
  std::thread caller([&] {
    pool_.run_blocks(2, [&](std::int64_t) {
      begun = true;
      while (!end) std::this_thread::yield();
    });
  });
  while (!begun) std::this_thread::yield();
  EXPECT_THROW(pool_.set_threads(3), Error);
  end = true;
  caller.join();
  EXPECT_EQ(pool_.threads(), 2);
  pool_.set_threads(3);
  EXPECT_EQ(pool_.threads(), 3);
}

TEST_F(ThreadPoolTest, IdleWorkersUseNoProcessorTime) {
  pool_.set_threads(4);
  pool_.run_blocks(8, [](std::int64_t) {});
  std::this_thread::sleep_for(20ms);
  const std::clock_t before = std::clock();
  std::this_thread::sleep_for(100ms);
  EXPECT_LT(static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC, 0.01);
}

TEST_F(ThreadPoolTest, RefusesBadThreadCounts) {
  EXPECT_THROW(pool_.set_threads(0), Error);
  EXPECT_THROW(pool_.set_threads(-3), Error);
  EXPECT_THROW(pool_.run_blocks(2, [&](std::int64_t) { pool_.set_threads(1); }), Error);
}

TEST_F(ThreadPoolTest, ParallelForCoversTheRangeInGrains) {
  pool_.set_threads(3);
  for (std::int64_t count : {0, 1, 63, 64, 65, 1000}) {
    std::vector<int> hits(static_cast<std::size_t>(count));
    parallel_for(count, 64, [&](std::int64_t begin, std::int64_t end) {
      EXPECT_EQ(begin % 64, 0);
      EXPECT_LE(end - begin, 64);
      for (std::int64_t i = begin; i < end; ++i) ++hits[static_cast<std::size_t>(i)];
    });
    for (int hit : hits) ASSERT_EQ(hit, 1);
  }
}

}  // namespace
}  // namespace cohort
