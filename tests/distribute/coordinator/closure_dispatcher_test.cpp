#include "cohort/distribute/coordinator/closure_dispatcher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <thread>

#include "cohort/core/log.h"
#include "cohort/data/dataset.h"
#include "cohort/distribute/cluster/task_exits.h"
#include "tests/distribute/coordinator/fake_link.h"
#include "tests/support/error_of.h"
#include "tests/support/paths.h"

namespace cohort::distribute::test {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::HasSubstr;

// A queue, a book and workers that all run the same.
struct FakeCluster {
  FakeCluster(int workers, FakeLink::Run run, ClosureDispatcherOptions options = {},
              ClosureQueueOptions queue_options = {})
      : queue(queue_options), book(workers, [](const Closure&, std::size_t) { return 1; }) {
    options.first_backoff = 2ms;
    options.last_backoff = 10ms;
    std::vector<std::shared_ptr<WorkerLink>> ways;
    for (int i = 0; i < workers; ++i) {
      links.push_back(std::make_shared<FakeLink>("worker:" + std::to_string(i), run));
      ways.push_back(links.back());
    }
    dispatcher = std::make_unique<ClosureDispatcher>(queue, book, ways, options);
  }
  // Deaths are warned of, and there are many here.
  struct Quiet {
    Quiet() { log::set_level(log::Level::Error); }
    ~Quiet() { log::set_level(before); }
    log::Level before = log::level();
  } quiet;
  ClosureQueue queue;
  PipelineBook book;
  std::vector<std::shared_ptr<FakeLink>> links;
  std::unique_ptr<ClosureDispatcher> dispatcher;
};

Closure counted(std::atomic<int>& done, std::atomic<int>* failed = nullptr) {
  Closure closure;
  closure.done = [&done](ClosureResult&) { ++done; };
  closure.failed = [failed](std::exception_ptr) {
    if (failed) ++*failed;
  };
  return closure;
}

TEST(ClosureDispatcher, RunsEverythingOnAllWorkers) {
  std::atomic<int> done{0};
  FakeCluster cluster(3, [](FakeLink& link, const Closure& closure) {
    link.work_for(200us);
    return ClosureResult{.steps = closure.steps};
  });
  for (int i = 0; i < 300; ++i) cluster.queue.put(counted(done));
  cluster.queue.wait();
  EXPECT_EQ(done, 300);
  for (const auto& link : cluster.links) {
    EXPECT_GT(link->starts, 0);
    EXPECT_EQ(link->most_under_way, 3u) << "a worker always has the next closure at hand";
  }
  EXPECT_EQ(cluster.queue.all_done_below(), 301u);
}

TEST(ClosureDispatcher, WorkersComeAndGo) {
  std::atomic<int> done{0};
  const FakeLink::Run run = [](FakeLink& link, const Closure& closure) {
    link.work_for(200us);
    return ClosureResult{.steps = closure.steps};
  };
  FakeCluster cluster(1, run);
  const auto run_all = [&] {
    for (int i = 0; i < 200; ++i) cluster.queue.put(counted(done));
    cluster.queue.wait();
  };
  const auto first = cluster.links.front(), joined = std::make_shared<FakeLink>("worker:7", run);
  cluster.dispatcher->add(joined);
  run_all();
  EXPECT_GT(joined->starts, 0);
  EXPECT_EQ(cluster.dispatcher->in_flight().size(), 2u);
  first->has_left = true;
  run_all();
  const int started = first->starts;
  run_all();
  EXPECT_EQ(first->starts, started);
  EXPECT_EQ(cluster.dispatcher->reachable(), 1u);
  first->has_left = false;
  for (int tries = 0; tries < 100 && first->starts == started; ++tries) run_all();
  EXPECT_GT(first->starts, started);
  EXPECT_EQ(done % 200, 0);
  EXPECT_EQ(cluster.dispatcher->reachable(), 2u);
}

TEST(ClosureDispatcher, AFewClosuresGoToAsManyWorkers) {
  std::atomic<int> done{0}, running{0}, most{0};
  FakeCluster cluster(3, [&](FakeLink&, const Closure& closure) {
    const int now = ++running;
    for (int seen = most; seen < now && !most.compare_exchange_weak(seen, now);) {
    }
    const auto until = std::chrono::steady_clock::now() + 2s;
    while (most < 3 && std::chrono::steady_clock::now() < until) std::this_thread::sleep_for(1ms);
    --running;
    return ClosureResult{.steps = closure.steps};
  });
  std::this_thread::sleep_for(50ms);
  for (int i = 0; i < 3; ++i) cluster.queue.put(counted(done));
  cluster.queue.wait();
  EXPECT_EQ(most, 3);
  for (const auto& link : cluster.links) EXPECT_EQ(link->starts, 1);
}

TEST(ClosureDispatcher, AnApplicationErrorCancelsTheRestAndWorkGoesOn) {
  std::atomic<int> queued{0}, done{0}, failed{0};
  std::atomic<bool> slow{true};
  FakeCluster cluster(2, [&](FakeLink& link, const Closure& closure) -> ClosureResult {
    if (closure.id == 5) throw Error(ErrorCode::InvalidArgument, link.task() + ": shapes differ");
    if (closure.id > 5 && slow) link.work_for(10s);
    return {.steps = closure.steps};
  });
  try {
    for (int i = 0; i < 1000; ++i) {
      cluster.queue.put(counted(done, &failed));
      ++queued;
    }
    cluster.queue.wait();
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::InvalidArgument);
    EXPECT_THAT(error.what(), HasSubstr("shapes differ"));
  }
  EXPECT_EQ(done + failed, queued);
  EXPECT_GE(failed, 1);
  EXPECT_TRUE(cluster.queue.done());
  slow = false;
  done = 0;
  for (int i = 0; i < 10; ++i) cluster.queue.put(counted(done));
  cluster.queue.wait();
  EXPECT_EQ(done, 10);
}

TEST(ClosureDispatcher, ALostServerIsAnErrorAndNotRetried) {
  std::atomic<int> runs{0}, done{0};
  FakeCluster cluster(2, [&](FakeLink&, const Closure&) -> ClosureResult {
    ++runs;
    throw LostParameterServer("ps:0", "ps:0 at 127.0.0.1:1 is gone");
  });
  cluster.queue.put(counted(done));
  EXPECT_THROW(cluster.queue.wait(), LostParameterServer);
  EXPECT_EQ(runs, 1);
  EXPECT_EQ(cluster.links[0]->reconnects + cluster.links[1]->reconnects, 0);
}

TEST(ClosureDispatcher, ADeadWorkersClosuresRunElsewhereAndItComesBack) {
  std::atomic<int> done{0};
  FakeCluster cluster(2, [&](FakeLink& link, const Closure& closure) {
    link.work_for(300us);
    return ClosureResult{.steps = closure.steps};
  });
  for (int i = 0; i < 200; ++i) cluster.queue.put(counted(done));
  while (cluster.links[0]->starts < 10) std::this_thread::sleep_for(1ms);
  cluster.links[0]->die(false);
  cluster.queue.wait();
  EXPECT_EQ(done, 200);
  EXPECT_EQ(cluster.dispatcher->reachable(), 1u);
  cluster.links[0]->let_return();
  while (cluster.dispatcher->reachable() < 2) std::this_thread::sleep_for(1ms);
  const int before = cluster.links[0]->starts;
  for (int i = 0; i < 200; ++i) cluster.queue.put(counted(done));
  cluster.queue.wait();
  EXPECT_EQ(done, 400);
  EXPECT_GT(cluster.links[0]->starts, before);
}

// Known before a closure is sent, or found out when it is.
TEST(ClosureDispatcher, AWorkerThatDiedIdleCostsNoAttempt) {
  for (const bool noticed : {true, false}) {
    std::atomic<int> done{0};
    FakeCluster cluster(1, {}, {}, {.max_attempts = 1});
    cluster.links[0]->noticed_idle_deaths = noticed;
    for (int death = 0; death < 5; ++death) {
      cluster.links[0]->die(true);
      cluster.queue.put(counted(done));
      cluster.queue.wait();
    }
    EXPECT_EQ(done, 5);
    EXPECT_EQ(cluster.links[0]->starts, 5);
  }
}

TEST(ClosureDispatcher, OnlyTheOldestInFlightMayHaveEndedAWorker) {
  std::atomic<int> done{0}, deaths{0};
  FakeCluster cluster(1,
                      [&](FakeLink& link, const Closure& closure) {
                        if (closure.id % 3 == 1 && closure.attempts == 0 && ++deaths > 0) link.die(true);
                        return ClosureResult{.steps = closure.steps};
                      },
                      {}, {.max_attempts = 2});
  for (int i = 0; i < 30; ++i) cluster.queue.put(counted(done));
  cluster.queue.wait();
  EXPECT_EQ(done, 30);
  EXPECT_GE(deaths, 5);
}

TEST(ClosureDispatcher, AWorkerThatWasOnlyCutOffIsNoDeath) {
  std::atomic<int> done{0}, cuts{0};
  FakeCluster cluster(2,
                      [&](FakeLink& link, const Closure& closure) {
                        if (closure.id == 2 && ++cuts <= 10) link.be_cut_off();
                        return ClosureResult{.steps = closure.steps};
                      },
                      {}, {.max_attempts = 2});
  for (int i = 0; i < 4; ++i) cluster.queue.put(counted(done));
  cluster.queue.wait();
  EXPECT_EQ(done, 4);
  EXPECT_EQ(cuts, 11);
}

TEST(ClosureDispatcher, OnlyWhatKillsItsWorkersIsGivenUp) {
  std::mutex mutex;
  std::set<std::uint64_t> failed;
  std::atomic<int> done{0};
  FakeCluster cluster(2, [](FakeLink& link, const Closure& closure) {
    if (closure.id == 4) link.die(true);
    link.work_for(100us);
    return ClosureResult{.steps = closure.steps};
  });
  std::string told;
  for (std::uint64_t id = 1; id <= 6; ++id) {
    Closure closure = counted(done);
    closure.failed = [&, id](std::exception_ptr why) {
      std::lock_guard lock(mutex);
      if (code_of(why) == ErrorCode::Aborted) {
        failed.insert(id);
        told = text_of(why);
      }
    };
    cluster.queue.put(std::move(closure));
  }
  EXPECT_THROW(cluster.queue.wait(), Error);
  EXPECT_THAT(failed, testing::ElementsAre(4));
  EXPECT_THAT(told, AllOf(HasSubstr("closure=4"), HasSubstr("worker:"), HasSubstr("connection reset")));
}

// Alive and yet no help: the work is done by another one, and the log says who it is.
TEST(ClosureDispatcher, AWorkerThatDoesNotMoveIsNamedAndLeftOut) {
  std::atomic<int> done{0};
  std::atomic<bool> blocks{true}, waits{false};
  ClosureDispatcherOptions options;
  options.stuck = {.named_after = 50ms, .stuck_after = 200ms, .pause = 10ms};
  FakeCluster cluster(
      2,
      [&](FakeLink& link, const Closure& closure) {
        if (link.task() == "worker:1") {
          waits = true;
          if (blocks) link.work_for(60s);
        }
        while (!waits) std::this_thread::sleep_for(1ms);
        return ClosureResult{.steps = closure.steps};
      },
      options);
  log::set_level(log::Level::Warn);
  testing::internal::CaptureStderr();
  for (int i = 0; i < 20; ++i) cluster.queue.put(counted(done));
  cluster.queue.wait();
  const std::string told = testing::internal::GetCapturedStderr();
  blocks = false;
  EXPECT_EQ(done, 20);
  EXPECT_THAT(told, HasSubstr("worker:1 is alive and has not begun a step"));
  EXPECT_THAT(told, testing::Not(HasSubstr("worker:0")));
  EXPECT_THAT(cluster.links[1]->abandoned, HasSubstr("worker:1"));
}

TEST(ClosureDispatcher, CancelDoesNotWaitForAWorkerThatDoesNotMove) {
  std::atomic<int> done{0};
  ClosureDispatcherOptions options;
  options.stuck = {.stuck_in_cancel_after = 100ms, .pause = 10ms};
  FakeCluster cluster(
      1,
      [](FakeLink& link, const Closure& closure) {
        link.work_until_lost();
        return ClosureResult{.steps = closure.steps};
      },
      options);
  cluster.queue.put(counted(done));
  while (cluster.links[0]->starts == 0) std::this_thread::sleep_for(1ms);
  cluster.queue.cancel();
  EXPECT_EQ(done, 0);
  EXPECT_TRUE(cluster.queue.done());
}

TEST(ClosureDispatcher, NamesTheWorkersWhenNoneIsLeft) {
  std::atomic<int> done{0}, failed{0};
  FakeCluster cluster(2, {}, {.worker_timeout = 50ms});
  for (const auto& link : cluster.links) link->die(false);
  for (int i = 0; i < 5; ++i) cluster.queue.put(counted(done, &failed));
  try {
    cluster.queue.wait();
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::Unavailable);
    EXPECT_THAT(error.what(), AllOf(HasSubstr("worker:0"), HasSubstr("worker:1"), HasSubstr("nothing to do")));
  }
  EXPECT_EQ(failed, 5);
  for (const auto& link : cluster.links) link->let_return();
  cluster.queue.put(counted(done));
  cluster.queue.wait();
  EXPECT_EQ(done, 1);
}

TEST(ClosureDispatcher, OneWorkerLeftIsEnough) {
  std::atomic<int> done{0};
  FakeCluster cluster(3, {}, {.worker_timeout = 20ms});
  cluster.links[0]->die(false);
  cluster.links[2]->die(false);
  for (int i = 0; i < 50; ++i) {
    cluster.queue.put(counted(done));
    std::this_thread::sleep_for(2ms);
  }
  cluster.queue.wait();
  EXPECT_EQ(done, 50);
}

TEST(ClosureDispatcher, CancelEndsWhatIsUnderWay) {
  std::atomic<int> done{0}, failed{0};
  FakeCluster cluster(2, [](FakeLink& link, const Closure& closure) {
    link.work_for(60s);
    return ClosureResult{.steps = closure.steps};
  });
  for (int i = 0; i < 20; ++i) cluster.queue.put(counted(done, &failed));
  while (cluster.links[0]->starts == 0 || cluster.links[1]->starts == 0) std::this_thread::sleep_for(1ms);
  cluster.queue.cancel();
  EXPECT_EQ(failed, 20);
  EXPECT_TRUE(cluster.queue.done());
}

TEST(ClosureDispatcher, DestructionEndsEverything) {
  std::atomic<int> done{0}, failed{0};
  auto cluster = std::make_unique<FakeCluster>(3, [](FakeLink& link, const Closure& closure) {
    link.work_for(60s);
    return ClosureResult{.steps = closure.steps};
  });
  for (int i = 0; i < 20; ++i) cluster->queue.put(counted(done, &failed));
  cluster->links[2]->die(false);
  cluster->dispatcher.reset();
  EXPECT_EQ(failed, 20);
  EXPECT_THROW(cluster->queue.put(counted(done)), Error);
}

// Closures walk over elements that are leased to them, on workers that die at random: every attempt gets the same
// elements, and in the end each element has been counted once.
TEST(ClosureDispatcher, RandomDeathsLoseAndRepeatNothing) {
  for (const std::size_t pipelines : {1u, 3u}) {
    std::atomic<unsigned> seed{7};
    std::atomic<int> repeats{0};
    std::mutex mutex;
    std::map<std::uint64_t, std::string> lent;
    std::map<std::string, int> taken;
    FakeCluster cluster(3,
                        [&](FakeLink& link, const Closure& closure) {
                          thread_local std::mt19937 random(seed++);
                          const Lease& lease = closure.leases.at(0);
                          const std::string place = std::to_string(lease.pipeline) + "/" + std::to_string(lease.first);
                          {
                            std::lock_guard lock(mutex);
                            const auto [known, first_attempt] = lent.emplace(closure.id, place);
                            EXPECT_EQ(known->second, place);
                            if (!first_attempt) ++repeats;
                          }
                          const auto dice = random() % 100;
                          if (dice < 3) link.die(true);
                          link.work_for(std::chrono::microseconds(dice));
                          return ClosureResult{.steps = closure.steps, .states = {place}};
                        },
                        {}, {.capacity = 40, .max_attempts = 50});
    const int data = cluster.book.add(std::vector<std::int64_t>(pipelines, kInfiniteCardinality));
    const int count = 1500;
    for (int i = 0; i < count; ++i) {
      Closure closure;
      closure.datasets = {data};
      closure.steps = 2;
      closure.done = [&](ClosureResult& result) {
        std::lock_guard lock(mutex);
        ++taken[result.states.at(0)];
      };
      cluster.queue.put(std::move(closure));
    }
    cluster.queue.wait();
    EXPECT_GT(repeats, 0);
    EXPECT_EQ(cluster.queue.all_done_below(), static_cast<std::uint64_t>(count) + 1);
    std::map<std::string, int> expected;
    for (const Lease& end : cluster.book.position(data)) {
      for (std::uint64_t first = 0; first < end.first; first += 2) {
        expected[std::to_string(end.pipeline) + "/" + std::to_string(first)] = 1;
      }
    }
    EXPECT_EQ(expected.size(), static_cast<std::size_t>(count));
    EXPECT_EQ(taken, expected);
  }
}

// Workers give the result they gave before when they are asked for the same closure again.
TEST(ClosureDispatcher, AClosureThatGetsOtherDataIsOtherWork) {
  std::mutex mutex;
  std::map<std::uint64_t, ClosureResult> given;
  FakeCluster cluster(2, [&](FakeLink&, const Closure& closure) {
    const Lease& lease = closure.leases.at(0);
    const std::int64_t size = lease.pipeline == 0 ? 3 : 40;
    const std::int64_t left = std::max<std::int64_t>(0, size - static_cast<std::int64_t>(lease.first));
    std::lock_guard lock(mutex);
    const std::int64_t steps = std::min(closure.steps, left);
    return given.emplace(closure.id, ClosureResult{.steps = steps, .data_ended = steps < closure.steps}).first->second;
  });
  const int data = cluster.book.add({kUnknownCardinality, kUnknownCardinality});
  std::atomic<std::int64_t> steps{0};
  for (int i = 0; i < 60; ++i) {
    Closure closure;
    closure.datasets = {data};
    closure.may_end = true;
    closure.done = [&](ClosureResult& result) { steps += result.steps; };
    cluster.queue.put(std::move(closure));
  }
  cluster.queue.wait();
  EXPECT_EQ(steps, 43);
}

TEST(ClosureDispatcher, DeathsErrorsAndCancelsTogether) {
  std::atomic<unsigned> seed{1};
  FakeCluster cluster(4,
                      [&](FakeLink& link, const Closure& closure) -> ClosureResult {
                        thread_local std::mt19937 random(seed++);
                        const auto dice = random() % 300;
                        if (dice < 6) link.die(true);
                        if (dice == 7) throw Error(ErrorCode::InvalidArgument, "unlucky");
                        link.work_for(std::chrono::microseconds(dice));
                        return {.steps = closure.steps};
                      },
                      {}, {.capacity = 30});
  std::atomic<int> queued{0}, done{0}, failed{0};
  std::vector<std::thread> programs;
  for (unsigned program = 0; program < 3; ++program) {
    programs.emplace_back([&, program] {
      std::mt19937 random(50 + program);
      for (int i = 0; i < 500; ++i) {
        try {
          cluster.queue.put(counted(done, &failed));
          ++queued;
          if (random() % 100 == 0) cluster.queue.wait();
          if (random() % 100 == 0) cluster.queue.cancel();
        } catch (const Error&) {
        }
      }
    });
  }
  for (std::thread& program : programs) program.join();
  cluster.dispatcher.reset();
  EXPECT_EQ(queued, done + failed);
  EXPECT_GT(done, 0);
}

// Cancels of one group hit closures of the other on the workers, which cannot tell: they run again and count once.
TEST(ClosureDispatcher, CancelsOfOneGroupDoNoHarmToAnother) {
  std::atomic<int> done{0}, failed{0}, ended{0};
  FakeCluster cluster(3, [](FakeLink& link, const Closure& closure) {
    link.work_for(300us);
    return ClosureResult{.steps = closure.steps};
  });
  const auto kept = std::make_shared<ClosureGroup>();
  std::thread canceller([&] {
    for (int round = 0; round < 30; ++round) {
      const auto cancelled = std::make_shared<ClosureGroup>();
      for (int i = 0; i < 20; ++i) {
        Closure closure = counted(ended, &ended);
        closure.group = cancelled;
        cluster.queue.put(std::move(closure));
      }
      std::this_thread::sleep_for(1ms);
      cluster.queue.cancel(cancelled);
      EXPECT_EQ(ended, 20 * (round + 1));
    }
  });
  for (int i = 0; i < 400; ++i) {
    Closure closure = counted(done, &failed);
    closure.group = kept;
    cluster.queue.put(std::move(closure));
  }
  cluster.queue.wait(kept);
  canceller.join();
  EXPECT_EQ(done, 400);
  EXPECT_EQ(failed, 0);
}

// A ps refuses what was sent before the fence of another group's cancel.
TEST(ClosureDispatcher, WhatAFenceOfAnotherGroupHitsRunsAgain) {
  std::atomic<int> done{0}, failed{0}, runs{0};
  std::atomic<bool> fenced = false;
  FakeCluster cluster(1, [&](FakeLink&, const Closure& closure) {
    if (++runs == 1) {
      while (!fenced) std::this_thread::sleep_for(1ms);
      throw Error(ErrorCode::Cancelled, "ps:0: an exchange of the present epoch is expected");
    }
    return ClosureResult{.steps = closure.steps};
  });
  cluster.queue.set_fence([&] { fenced = true; });
  const auto kept = std::make_shared<ClosureGroup>(), cancelled = std::make_shared<ClosureGroup>();
  Closure closure = counted(done, &failed);
  closure.group = kept;
  cluster.queue.put(std::move(closure));
  while (runs == 0) std::this_thread::sleep_for(1ms);
  cluster.queue.cancel(cancelled);
  cluster.queue.wait(kept);
  EXPECT_EQ(done, 1);
  EXPECT_EQ(failed, 0);
  EXPECT_EQ(runs, 2);
  EXPECT_EQ(cluster.links[0]->reconnects, 0) << "its worker is not at fault";
}

// Whoever started the workers notes how they end.
TEST(ClosureDispatcher, ErrorsSayHowWorkersEnded) {
  const cohort::test::TemporaryFolder folder;
  const std::string file = folder.file("exits");
  ::setenv(kTaskExitsVariable, file.c_str(), 1);
  std::ofstream(file) << task_exit_line("worker:0", 1);  // long ago
  std::atomic<int> done{0}, failed{0};
  std::string error;
  {
    FakeCluster cluster(1, [&](FakeLink& link, const Closure&) -> ClosureResult {
      std::ofstream(file, std::ios::app) << task_exit_line("worker:0", 137) << task_exit_line("worker:1", 9);
      link.die(/*may_return=*/true);
      throw Error(ErrorCode::Unavailable, "worker:0: connection reset");
    });
    cluster.queue.put(counted(done, &failed));
    error = cohort::test::error_of([&] { cluster.queue.wait(); });
  }
  ::unsetenv(kTaskExitsVariable);
  EXPECT_THAT(error, AllOf(HasSubstr("Aborted"),
                           HasSubstr("worker:0 (its process ended with exit code 137 (killed, as the system does "
                                     "where memory runs out))")));
}

}  // namespace
}  // namespace cohort::distribute::test
