// A worker in step that dies, is stopped, is cut off or throws: the others end soon and name it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <cstdio>
#include <deque>
#include <fstream>
#include <random>
#include <thread>

#include "cohort/cohort.h"
#include "tests/faults/processes_in_step.h"
#include "tests/support/deadline.h"
#include "tests/support/kills_wanted.h"
#include "tests/support/patience.h"

namespace cohort::test {
namespace {

using namespace std::chrono_literals;
using LossClock = std::chrono::steady_clock;
using testing::AnyOf;
using testing::HasSubstr;
using testing::Not;

constexpr int kInStep = 3;

// A training that ends only by what happens to it, with validation and backups on the way.
const KnownTaskInStep train_for_ever("train_for_ever", [](const TaskInStep& task) {
  const auto strategy = task.strategy();
  auto scope = strategy.scope();
  Sequential model({layers::Dense(64, {.activation = "relu"}), layers::BatchNormalization(), layers::Dense(1)});
  model.compile({.optimizer = "adam", .loss = "mse", .steps_per_execution = 3});
  const Dataset data = datasets::from_tensor_slices(waves({66, 16}), waves({66, 1}, 11)).batch(9);
  std::vector<Ref<Callback>> callbacks{make<AtBatch>(5, [](Model&) { std::ofstream("begun") << "yes"; })};
  if (const std::string backup = task.text("backup"); !backup.empty()) {
    callbacks.push_back(callbacks::BackupAndRestore(backup, {.save_freq = std::int64_t{4}}));
  }
  if (task.is_odd_one() && task.text("throws") == "yes") {
    callbacks.push_back(make<AtBatch>(static_cast<std::int64_t>(task.number("at", 7)),
                                      [](Model&) { throw std::runtime_error("a callback's own error"); }));
  }
  const auto train = [&] {
    model.fit(
        data.repeat(),
        {.epochs = 1'000'000, .verbose = 0, .validation_data = data, .steps_per_epoch = 50, .callbacks = callbacks});
  };
  if (task.text("lingers") != "yes") return train();
  const std::string error = what_ended(train);
  std::ofstream("told") << error;
  std::this_thread::sleep_for(10min);
});

struct LostWorker {
  int rank = 1;
  LossClock::time_point at;
};

// Begins a job and gives it a random time, or the time it takes to begin.
std::unique_ptr<ProcessesInStep> begin_job(std::mt19937& random, const std::string& words, bool proxied = false) {
  auto job = std::make_unique<ProcessesInStep>(kInStep, words, ProcessesInStepOptions{.proxied = proxied});
  EXPECT_TRUE(job->all_have("begun")) << job->process(0).errors() << job->process(1).errors();
  std::this_thread::sleep_for(std::chrono::microseconds(random() % 300'000));
  return job;
}

// All but the lost one must have ended and say who it was, in time. Returns the seconds it took.
double expect_others_end(ProcessesInStep& job, const LostWorker& loss) {
  double longest = 0.0;
  for (int rank = 0; rank < kInStep; ++rank) {
    if (rank == loss.rank) continue;
    EXPECT_THAT(job.error(rank, 30s), HasSubstr(job.name(loss.rank))) << job.process(rank).errors();
    const std::chrono::duration<double> passed = LossClock::now() - loss.at;
    EXPECT_LT(passed.count(), patience(kDeadAfterInStep + 2.0)) << job.name(rank);
    longest = std::max(longest, passed.count());
  }
  return longest;
}

std::mt19937 seeded_moments(const char* what, int rounds) {
  const unsigned seed = rounds > 5 ? std::random_device()() : 17;
  std::printf("%s: %d rounds, seed %u\n", what, rounds, seed);
  return std::mt19937(seed);
}

TEST(LostInStep, KilledIsNamedByTheOthers) {
  const int rounds = kills_wanted(2);
  const Deadline deadline(patience(std::chrono::seconds(60 + 20 * rounds)));
  double longest = 0.0;
  std::mt19937 random = seeded_moments("killed", rounds);
  const TemporaryFolder backups;
  for (int round = 0; round < rounds; ++round) {
    SCOPED_TRACE(round);
    const auto job = begin_job(random, "task=train_for_ever backup=" + backups.file(std::to_string(round)));
    const LostWorker loss{static_cast<int>(random() % kInStep), LossClock::now()};
    job->process(loss.rank).signal(SIGKILL);
    longest = std::max(longest, expect_others_end(*job, loss));
  }
  std::printf("others have ended after %.2f s at most\n", longest);
}

// Others go on without it; it ends once it is continued.
TEST(LostInStep, StoppedIsNamedByTheOthersAndEndsWhenContinued) {
  const int rounds = kills_wanted(1);
  const auto stopped_for = rounds > 1 ? 30s : 5s;
  const Deadline deadline(patience(std::chrono::seconds(120 + 30 * rounds)));
  double longest = 0.0;
  std::mt19937 random = seeded_moments("stopped", rounds);
  struct Stopped {
    std::unique_ptr<ProcessesInStep> job;
    LostWorker loss;
  };
  std::deque<Stopped> all;
  const auto continue_oldest = [&] {
    Stopped& oldest = all.front();
    std::this_thread::sleep_until(oldest.loss.at + stopped_for);
    oldest.job->process(oldest.loss.rank).signal(SIGCONT);
    const auto continued = LossClock::now();
    const std::string error = oldest.job->error(oldest.loss.rank, 30s);
    EXPECT_THAT(error, AnyOf(HasSubstr("worker:0"), HasSubstr("worker:1"), HasSubstr("worker:2")));
    const std::chrono::duration<double> passed = LossClock::now() - continued;
    EXPECT_LT(passed.count(), patience(kDeadAfterInStep + 2.0)) << error;
    all.pop_front();
  };
  for (int round = 0; round < rounds; ++round) {
    SCOPED_TRACE(round);
    all.push_back({begin_job(random, "task=train_for_ever"), {}});
    all.back().loss = {static_cast<int>(random() % kInStep), LossClock::now()};
    all.back().job->process(all.back().loss.rank).signal(SIGSTOP);
    longest = std::max(longest, expect_others_end(*all.back().job, all.back().loss));
    if (LossClock::now() > all.front().loss.at + stopped_for) continue_oldest();
  }
  while (!all.empty()) continue_oldest();
  std::printf("others have ended after %.2f s at most\n", longest);
}

// Also where the others have caught the error and their programs go on with something else.
TEST(LostInStep, StoppedEndsWhenContinuedThoughTheOthersLinger) {
  const Deadline deadline(patience(120s));
  std::mt19937 random(3);
  const auto job = begin_job(random, "task=train_for_ever lingers=yes");
  job->process(1).signal(SIGSTOP);
  EXPECT_TRUE(becomes_true([&] { return job->has_file(0, "told") && job->has_file(2, "told"); }, 30s));
  std::this_thread::sleep_for(500ms);
  EXPECT_THAT(content_of(job->file(0, "told")), HasSubstr("worker:1"));
  job->process(1).signal(SIGCONT);
  EXPECT_TRUE(becomes_true([&] { return job->has_file(1, "told"); }, patience(5s))) << job->process(1).errors();
}

// Shorter than it takes to count as lost: nothing happens.
TEST(LostInStep, StoppedForAMomentGoesOn) {
  const Deadline deadline(patience(120s));
  std::mt19937 random(4);
  const auto job = begin_job(random, "task=train_for_ever dead_after=20");
  job->process(1).signal(SIGSTOP);
  std::this_thread::sleep_for(1s);
  job->process(1).signal(SIGCONT);
  std::this_thread::sleep_for(1s);
  for (int rank = 0; rank < kInStep; ++rank) EXPECT_FALSE(job->has_file(rank, "ended")) << job->error(rank);
  job->process(1).signal(SIGINT);
  for (int rank = 0; rank < kInStep; ++rank) EXPECT_THAT(job->error(rank), HasSubstr("interrupted"));
}

TEST(LostInStep, CutOffIsNamedByTheOthersAndEndsToo) {
  const int rounds = kills_wanted(2);
  const Deadline deadline(patience(std::chrono::seconds(60 + 20 * rounds)));
  double longest = 0.0;
  std::mt19937 random = seeded_moments("cut off", rounds);
  for (int round = 0; round < rounds; ++round) {
    SCOPED_TRACE(round);
    const auto job = begin_job(random, "task=train_for_ever", true);
    const LostWorker loss{static_cast<int>(random() % kInStep), LossClock::now()};
    job->cut_off(loss.rank);
    longest = std::max(longest, expect_others_end(*job, loss));
    EXPECT_THAT(job->error(loss.rank, 30s), HasSubstr("worker:"));
    const std::chrono::duration<double> passed = LossClock::now() - loss.at;
    EXPECT_LT(passed.count(), patience(kDeadAfterInStep + 2.0));
  }
  std::printf("others have ended after %.2f s at most\n", longest);
}

TEST(LostInStep, AnExceptionOfOneEndsAll) {
  const int rounds = kills_wanted(2);
  const Deadline deadline(patience(std::chrono::seconds(60 + 20 * rounds)));
  double longest = 0.0;
  std::mt19937 random = seeded_moments("exception", rounds);
  for (int round = 0; round < rounds; ++round) {
    SCOPED_TRACE(round);
    const int odd = static_cast<int>(random() % kInStep);
    ProcessesInStep job(kInStep, "task=train_for_ever throws=yes odd=" + std::to_string(odd) +
                                     " at=" + std::to_string(1 + random() % 60));
    EXPECT_THAT(job.error(odd), HasSubstr("a callback's own error"));
    const LostWorker loss{odd, LossClock::now()};
    longest = std::max(longest, expect_others_end(job, loss));
  }
  std::printf("others have ended after %.2f s at most\n", longest);
}

// In the meeting nobody counts on one before it is there, and one that is started again is welcome.
TEST(LostInStep, KilledAndStartedAgainBeforeAllHaveMet) {
  const Deadline deadline(patience(120s));
  ProcessesInStep job(kInStep, "task=train_for_ever", {.start = false});
  job.start(0);
  job.start(1);
  const auto knows = [&](int rank) { return job.process(rank).errors().find("2/3 joined") != std::string::npos; };
  ASSERT_TRUE(becomes_true([&] { return knows(0) && knows(1); }, 30s)) << job.process(0).errors();
  job.process(1).signal(SIGKILL);
  job.process(1).wait();
  job.start(1);
  job.start(2);
  EXPECT_TRUE(job.all_have("begun")) << job.process(0).errors() << job.process(1).errors();
}

}  // namespace
}  // namespace cohort::test
