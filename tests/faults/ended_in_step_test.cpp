// What one worker in step wants, all do at the same step: stop_training, Ctrl-C and SIGTERM.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <cstdio>
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
using testing::HasSubstr;

constexpr int kEndedWorkers = 3;

// Sets stop_training in one of the hooks, at a count of them.
class StopsSomewhere : public Callback {
 public:
  StopsSomewhere(int hook, int count) : hook_(hook), left_(count) {}
  void on_epoch_begin(std::int64_t) override { came_to(0); }
  void on_train_batch_begin(std::int64_t) override { came_to(1); }
  void on_train_batch_end(std::int64_t, Logs&) override {
    ++batches_;
    came_to(2);
  }
  void on_test_batch_end(std::int64_t, Logs&) override { came_to(3); }
  void on_epoch_end(std::int64_t, Logs&) override { came_to(4); }
  int batches() const { return batches_; }

 private:
  void came_to(int hook) {
    if (hook == hook_ && --left_ == 0) model().stop_training = true;
  }
  const int hook_;
  int left_, batches_ = 0;
};

// One fit after the other; each is ended by one of them, at a place that all can work out and only one acts on.
const KnownTaskInStep stop_at_random("stop_at_random", [](const TaskInStep& task) {
  const auto strategy = task.strategy();
  auto scope = strategy.scope();
  Sequential model({layers::Dense(8, {.activation = "relu"}), layers::Dense(1)});
  model.compile({.optimizer = "adam", .loss = "mse", .steps_per_execution = 2});
  const Dataset data = datasets::from_tensor_slices(waves({26, 4}), waves({26, 1}, 11)).batch(4);
  std::mt19937 random(static_cast<unsigned>(task.number("seed", 1)));
  std::ofstream stops("stops");
  for (int round = 0; round < static_cast<int>(task.number("rounds", 5)); ++round) {
    const int who = static_cast<int>(random() % kEndedWorkers), hook = static_cast<int>(random() % 5);
    const int count = 1 + static_cast<int>(random() % (hook == 0 || hook == 4 ? 3 : 12));
    const auto stops_here = make<StopsSomewhere>(task.rank() == who ? hook : -1, count);
    model.fit(data, {.epochs = 1'000'000, .verbose = 0, .validation_data = data, .callbacks = {stops_here}});
    stops << stops_here.as<StopsSomewhere>()->batches() << " ";
  }
});

TEST(EndedInStep, AHundredStopsOfOneEndAllAtOneStep) {
  const Deadline deadline(patience(180s));
  const int rounds = kills_wanted(0) > 0 ? 100 : 5;
  const unsigned seed = rounds > 5 ? std::random_device()() : 23;
  std::printf("stops: %d, seed %u\n", rounds, seed);
  ProcessesInStep job(kEndedWorkers,
                      "task=stop_at_random rounds=" + std::to_string(rounds) + " seed=" + std::to_string(seed));
  for (int rank = 0; rank < kEndedWorkers; ++rank) {
    EXPECT_EQ(job.error(rank), "no error") << job.process(rank).errors();
    EXPECT_EQ(content_of(job.file(rank, "stops")), content_of(job.file(0, "stops")));
  }
}

// Fits until it is interrupted, again and again; says in a file how often, and after how many batches.
const KnownTaskInStep be_interrupted("be_interrupted", [](const TaskInStep& task) {
  // Between two fits nobody takes it.
  ::signal(SIGINT, SIG_IGN);
  const auto strategy = task.strategy();
  auto scope = strategy.scope();
  Sequential model({layers::Dense(8, {.activation = "relu"}), layers::Dense(1)});
  model.compile({.optimizer = "adam", .loss = "mse", .steps_per_execution = 2});
  const Dataset data = datasets::from_tensor_slices(waves({26, 4}), waves({26, 1}, 11)).batch(4);
  std::ofstream interruptions("interruptions");
  for (int round = 0; round < static_cast<int>(task.number("rounds", 2)); ++round) {
    const auto counts = make<StopsSomewhere>(-1, 0);
    const auto begins = make<AtBatch>(3, [round](Model&) { std::ofstream("begun" + std::to_string(round)); });
    const std::string error = what_ended([&] {
      model.fit(data, {.epochs = 1'000'000, .verbose = 0, .validation_data = data, .callbacks = {counts, begins}});
    });
    interruptions << counts.as<StopsSomewhere>()->batches() << " " << error << std::endl;
  }
});

TEST(EndedInStep, CtrlCOfOneEndsAllAtOneStep) {
  const int rounds = kills_wanted(3);
  const Deadline deadline(patience(std::chrono::seconds(60 + 10 * rounds)));
  const unsigned seed = rounds > 3 ? std::random_device()() : 29;
  std::printf("interruptions: %d, seed %u\n", rounds, seed);
  std::mt19937 random(seed);
  ProcessesInStep job(kEndedWorkers, "task=be_interrupted rounds=" + std::to_string(rounds));
  for (int round = 0; round < rounds; ++round) {
    ASSERT_TRUE(job.all_have("begun" + std::to_string(round))) << job.process(0).errors();
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 200'000));
    job.process(static_cast<int>(random() % kEndedWorkers)).signal(SIGINT);
  }
  for (int rank = 0; rank < kEndedWorkers; ++rank) {
    EXPECT_EQ(job.error(rank), "no error") << job.process(rank).errors();
    const std::string told = content_of(job.file(rank, "interruptions"));
    EXPECT_EQ(told, content_of(job.file(0, "interruptions")));
    EXPECT_THAT(told, HasSubstr("interrupted from the keyboard"));
  }
}

}  // namespace
}  // namespace cohort::test
