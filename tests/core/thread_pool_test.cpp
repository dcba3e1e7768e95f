#include "cohort/core/thread_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <ctime>
#include <numeric>
#include <stdexcept>
#include <thread>
#include <vector>

#include "cohort/core/error.h"

namespace cohort {
namespace {

using namespace std::chrono_literals;

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
    // Each block waits for the other: with only one thread at work this would never end.
    std::atomic<int> arrived{0};
    pool_.run_blocks(2, [&](std::int64_t) {
      ++arrived;
      while (arrived < 2) std::this_thread::yield();
    });
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

TEST_F(ThreadPoolTest, NestedCallsRunOnTheirThread) {
  pool_.set_threads(4);
  std::atomic<int> calls{0}, elsewhere{0};
  pool_.run_blocks(8, [&](std::int64_t) {
    const std::thread::id here = std::this_thread::get_id();
    pool_.run_blocks(8, [&](std::int64_t) {
      ++calls;
      if (std::this_thread::get_id() != here) ++elsewhere;
    });
  });
  EXPECT_EQ(calls, 64);
  EXPECT_EQ(elsewhere, 0);
}

TEST_F(ThreadPoolTest, SeveralCallersAtOnce) {
  pool_.set_threads(3);
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
