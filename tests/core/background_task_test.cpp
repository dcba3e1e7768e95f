#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "cohort/core/thread_pool.h"

namespace cohort {
namespace {

using namespace std::chrono_literals;

struct CountingTask : BackgroundTask {
  std::atomic<int>* done = nullptr;
  std::chrono::microseconds takes{0};

  void run() noexcept override {
    if (takes.count() > 0) std::this_thread::sleep_for(takes);
    ++*done;
  }
};

TEST(BackgroundTask, IsDoneByAnIdleThread) {
  if (ThreadPool::instance().threads() < 2) GTEST_SKIP() << "there is no other thread";
  std::atomic<int> done{0};
  CountingTask task;
  task.done = &done;
  ThreadPool::instance().submit(task);
  for (int i = 0; i < 5000 && !task.is_done(); ++i) std::this_thread::sleep_for(1ms);
  EXPECT_TRUE(task.is_done());
  ThreadPool::instance().finish(task);
  EXPECT_EQ(done, 1);
}

TEST(BackgroundTask, IsDoneOnceWhoeverDoesIt) {
  std::atomic<int> done{0};
  std::vector<CountingTask> tasks(200);
  for (int round = 0; round < 20; ++round) {
    for (CountingTask& task : tasks) {
      task.done = &done;
      ThreadPool::instance().submit(task);
    }
    for (CountingTask& task : tasks) ThreadPool::instance().finish(task);
    EXPECT_EQ(done, (round + 1) * 200);
  }
}

TEST(BackgroundTask, IsNotBegunOnceItIsWithdrawn) {
  std::atomic<int> done{0};
  int counted = 0;
  std::vector<CountingTask> tasks(500);
  for (CountingTask& task : tasks) {
    task.done = &done;
    task.takes = 50us;
    ThreadPool::instance().submit(task);
  }
  for (CountingTask& task : tasks) counted += ThreadPool::instance().withdraw(task);
  EXPECT_EQ(done, counted);
  std::this_thread::sleep_for(5ms);
  EXPECT_EQ(done, counted);
}

TEST(BackgroundTask, MayHaveJobsInsideIt) {
  struct Job : BackgroundTask {
    std::atomic<std::int64_t> sum{0};
    void run() noexcept override {
      ThreadPool::instance().run_blocks(100, [this](std::int64_t block) { sum += block; });
    }
  };
  std::vector<Job> jobs(20);
  for (Job& job : jobs) ThreadPool::instance().submit(job);
  for (Job& job : jobs) {
    ThreadPool::instance().finish(job);
    EXPECT_EQ(job.sum, 4950);
  }
}

// A job waits for no more than the pieces that are being done.
TEST(BackgroundTask, LeavesTheWayToJobs) {
  std::atomic<int> done{0};
  std::vector<CountingTask> tasks(400);
  for (CountingTask& task : tasks) {
    task.done = &done;
    task.takes = 1000us;
    ThreadPool::instance().submit(task);
  }
  const auto begin = std::chrono::steady_clock::now();
  std::atomic<std::int64_t> sum{0};
  ThreadPool::instance().run_blocks(1000, [&](std::int64_t block) { sum += block; });
  const auto took = std::chrono::steady_clock::now() - begin;
  EXPECT_EQ(sum, 499500);
  EXPECT_LT(took, 100ms);  // all of them take 400 ms and more on two threads
  for (CountingTask& task : tasks) ThreadPool::instance().withdraw(task);
}

TEST(BackgroundTask, TasksOfManyThreadsAtOnce) {
  std::atomic<int> done{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 6; ++t) {
    threads.emplace_back([&] {
      std::vector<CountingTask> tasks(8);
      for (int round = 0; round < 200; ++round) {
        for (CountingTask& task : tasks) {
          task.done = &done;
          ThreadPool::instance().submit(task);
        }
        for (CountingTask& task : tasks) ThreadPool::instance().finish(task);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(done, 6 * 8 * 200);
}

}  // namespace
}  // namespace cohort
