// Jobs of workers in step that are ended at any moment and started again, also as fewer or more workers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <cstdio>
#include <fstream>
#include <random>
#include <set>
#include <sstream>
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

constexpr std::int64_t kResumedEpochs = 3, kResumedSteps = 24;  // 95 samples in batches of 4

// Notes every batch of training, and leaves time for what happens at random.
class NotesBatches : public Callback {
 public:
  explicit NotesBatches(std::chrono::microseconds pause) : pause_(pause), notes_("batches", std::ios::app) {}
  void on_epoch_begin(std::int64_t epoch) override { epoch_ = epoch; }
  void on_train_batch_end(std::int64_t batch, Logs&) override {
    notes_ << epoch_ << ":" << batch << std::endl;
    std::this_thread::sleep_for(pause_);
  }

 private:
  const std::chrono::microseconds pause_;
  std::ofstream notes_;
  std::int64_t epoch_ = 0;
};

// A run in which everything has a part that a restart must bring back: shuffling, dropout, statistics that each worker
// has for itself, metrics, validation, a last batch that is short.
TrainedInStep train_resumable(const std::vector<Ref<Callback>>& callbacks, bool own_statistics) {
  set_random_seed(5);
  Sequential model({layers::Dense(12, {.activation = "tanh"}),
                    layers::BatchNormalization({.synchronized = !own_statistics}), layers::Dropout(0.3),
                    layers::Dense(2)});
  model.compile({.optimizer = optimizers::Adam(1e-2), .loss = "mse", .metrics = {"mae"}});
  const Dataset data =
      datasets::from_tensor_slices(waves({95, 6}), waves({95, 2}, 11)).shuffle(95, {.seed = 3}).batch(4);
  const Dataset validation = datasets::from_tensor_slices(waves({23, 6}, 5), waves({23, 2}, 7)).batch(5);
  const History history =
      model.fit(data, {.epochs = kResumedEpochs, .verbose = 0, .validation_data = validation, .callbacks = callbacks});
  TrainedInStep result{values_of(model), {}};
  for (const char* name : {"loss", "mae", "val_loss", "val_mae"}) {
    // A run may have been ended behind its last epoch.
    result.history[name] = history.epoch().empty() ? std::vector<double>() : history[name];
  }
  return result;
}

const KnownTaskInStep resume("resume", [](const TaskInStep& task) {
  // One that comes when all is done changes nothing.
  ::signal(SIGTERM, SIG_IGN);
  const auto strategy = task.strategy();
  auto scope = strategy.scope();
  const auto pause = std::chrono::microseconds(static_cast<std::int64_t>(task.number("pause", 0)));
  std::vector<Ref<Callback>> callbacks{make<NotesBatches>(pause)};
  callbacks.push_back(make<AtBatch>(1, [](Model&) { std::ofstream("begun") << "yes"; }));
  if (const auto at = static_cast<std::int64_t>(task.number("terminated_at", 0)); at > 0 && task.is_odd_one()) {
    callbacks.push_back(make<AtBatch>(at, [](Model&) { raise(SIGTERM); }));
  }
  if (const std::string backup = task.text("backup"); !backup.empty()) {
    const auto every = static_cast<std::int64_t>(task.number("save_freq", 0));
    callbacks.push_back(every > 0 ? callbacks::BackupAndRestore(backup, {.save_freq = every})
                                  : callbacks::BackupAndRestore(backup));
  }
  write_result(train_resumable(callbacks, task.text("statistics", "own") == "own"));
});

// The last epochs of a run that is never interrupted.
TrainedInStep end_of(TrainedInStep whole, std::size_t epochs) {
  for (auto& [name, values] : whole.history) values.erase(values.begin(), values.end() - static_cast<long>(epochs));
  return whole;
}

TrainedInStep uninterrupted(int workers, const std::string& words = {}) {
  ProcessesInStep job(workers, "task=resume " + words);
  for (int rank = 0; rank < workers; ++rank) EXPECT_EQ(job.error(rank), "no error") << job.process(rank).errors();
  return job.result(0);
}

// Started again and again until it comes to its end; each worker stays in its folder.
class BrokenJob {
 public:
  BrokenJob(int workers, std::string words) : job_(workers, "task=resume " + words, {.start = false}) {}

  void start() {
    for (int rank = 0; rank < job_.size(); ++rank) {
      for (const char* name : {"begun", "ended"}) std::filesystem::remove(job_.file(rank, name));
      job_.start(rank);
    }
  }
  // Sends one a signal at a random time after all have begun; false when the job ends well before.
  bool strike(int number, std::mt19937& random, std::chrono::microseconds longest) {
    const int rank = static_cast<int>(random() % static_cast<unsigned>(job_.size()));
    EXPECT_TRUE(job_.all_have("begun")) << job_.process(0).errors();
    const std::chrono::microseconds life(random() % static_cast<unsigned>(longest.count()));
    std::this_thread::sleep_for(life);
    const bool running = !job_.process(rank).wait(0s).has_value();
    if (running) job_.process(rank).signal(number);
    return running;
  }
  // Waits for the end of all.
  bool ended_well() {
    bool well = true;
    for (int rank = 0; rank < job_.size(); ++rank) well = job_.error(rank) == "no error" && well;
    return well;
  }
  ProcessesInStep& job() { return job_; }
  std::vector<std::string> batches(int rank) const {
    std::istringstream lines(content_of(job_.file(rank, "batches")));
    std::vector<std::string> all;
    for (std::string line; std::getline(lines, line);) all.push_back(line);
    return all;
  }

 private:
  ProcessesInStep job_;
};

void expect_end_of(BrokenJob& broken, const TrainedInStep& whole) {
  for (int rank = 0; rank < broken.job().size(); ++rank) {
    EXPECT_EQ(broken.job().error(rank), "no error") << broken.job().process(rank).errors();
    const TrainedInStep found = broken.job().result(rank);
    const std::size_t epochs = found.history.empty() ? 0 : found.history.at("loss").size();
    EXPECT_EQ(found.weights, whole.weights) << broken.job().name(rank);
    EXPECT_EQ(found.history, end_of(whole, epochs).history) << broken.job().name(rank);
  }
}

unsigned resumed_seed(const char* what, int rounds) {
  const unsigned seed = rounds > 3 ? std::random_device()() : 31;
  std::printf("%s: %d rounds, seed %u\n", what, rounds, seed);
  return seed;
}

// A few kills to each run, for what has come back must come back again.
void kill_and_resume(int workers, const std::string& words, const TrainedInStep& whole, int kills,
                     std::mt19937& random) {
  for (int done = 0; done < kills;) {
    const TemporaryFolder shared;
    BrokenJob broken(workers, words + " pause=3000 backup=" + shared.file("backup"));
    bool ended = false;
    for (int left = 3; left > 0 && !ended && done < kills; --left) {
      broken.start();
      if (broken.strike(SIGKILL, random, 200ms)) ++done;
      ended = broken.ended_well();
    }
    if (!ended) broken.start();
    expect_end_of(broken, whole);
  }
}

TEST(ResumedInStep, KilledAtAnyMomentEqualsUninterruptedBitForBit) {
  const int kills = kills_wanted(2);
  const Deadline deadline(patience(std::chrono::seconds(120 + 20 * kills)));
  std::mt19937 random(resumed_seed("killed and resumed", kills));
  const TrainedInStep whole = uninterrupted(2);
  ASSERT_EQ(whole.history.at("loss").size(), static_cast<std::size_t>(kResumedEpochs));
  kill_and_resume(2, "save_freq=3", whole, kills, random);
}

// All of them at one step, with a backup from there: no batch is lost and none is done twice.
TEST(ResumedInStep, SigtermOfOneEndsAllAtOneStepWithABackup) {
  const int rounds = kills_wanted(2);
  const Deadline deadline(patience(std::chrono::seconds(120 + 20 * rounds)));
  std::mt19937 random(resumed_seed("terminated and resumed", rounds));
  const TrainedInStep whole = uninterrupted(2);
  for (int done = 0; done < rounds;) {
    const TemporaryFolder shared;
    BrokenJob broken(2, "pause=3000 backup=" + shared.file("backup") + (done % 2 == 0 ? "" : " save_freq=1"));
    bool running = true;
    for (int left = 3; left > 0 && running && done < rounds; --left) {
      broken.start();
      running = broken.strike(SIGTERM, random, 150ms);
      for (int rank = 0; rank < 2; ++rank) {
        const std::string error = broken.job().error(rank);
        running = running && error != "no error";
        if (running) {
          EXPECT_THAT(error, HasSubstr("ended by SIGTERM")) << broken.job().process(rank).errors();
        }
      }
      EXPECT_EQ(broken.batches(0), broken.batches(1));
      if (running) ++done;
    }
    if (running) broken.start();
    expect_end_of(broken, whole);
    const std::vector<std::string> batches = broken.batches(0);
    EXPECT_EQ(batches.size(), static_cast<std::size_t>(kResumedEpochs * kResumedSteps));
    EXPECT_EQ(std::set<std::string>(batches.begin(), batches.end()).size(), batches.size());
  }
}

// Ends by a SIGTERM to one at these batches, with that many workers each time, and then goes on to the end with the
// last number.
struct Parts {
  std::vector<int> workers;
  std::vector<int> ends;
  std::string words;
};

// Expects each batch once, and weights and figures of the run on one machine.
void expect_whole_of(const Parts& parts, const TrainedInStep& alone, std::size_t epochs_at_last) {
  const TemporaryFolder shared;
  std::vector<std::string> batches;
  TrainedInStep found;
  for (std::size_t i = 0; i < parts.workers.size(); ++i) {
    SCOPED_TRACE(i);
    const bool last = i + 1 == parts.workers.size();
    BrokenJob part(parts.workers[i], parts.words + " terminated_at=" + std::to_string(last ? 0 : parts.ends[i]) +
                                         " backup=" + shared.file("backup"));
    part.start();
    for (int rank = 0; rank < part.job().size(); ++rank) {
      EXPECT_THAT(part.job().error(rank), HasSubstr(last ? "no error" : "ended by SIGTERM"))
          << part.job().process(rank).errors();
      EXPECT_EQ(part.batches(rank), part.batches(0));
    }
    const std::vector<std::string> own = part.batches(0);
    batches.insert(batches.end(), own.begin(), own.end());
    if (last) found = part.job().result(0);
  }
  EXPECT_EQ(batches.size(), static_cast<std::size_t>(kResumedEpochs * kResumedSteps));
  EXPECT_EQ(std::set<std::string>(batches.begin(), batches.end()).size(), batches.size());
  ASSERT_FALSE(found.history.empty());
  expect_near(found, end_of(alone, epochs_at_last), 2e-4);
}

// The batches are those of one machine, so the number of workers is of no account.
TEST(ResumedInStep, AnotherNumberOfWorkersGoesOn) {
  const Deadline deadline(patience(180s));
  expect_whole_of({{2, 3, 1}, {13, 25}, "statistics=shared"}, train_resumable({}, false), 2);
}

TEST(ResumedInStep, ABackupThatOnlyOneSeesIsRefused) {
  const Deadline deadline(patience(60s));
  BrokenJob ended(2, "terminated_at=13 backup=backup");
  ended.start();
  EXPECT_FALSE(ended.ended_well());
  ended.start();
  for (int rank = 0; rank < 2; ++rank) {
    EXPECT_THAT(ended.job().error(rank),
                testing::AllOf(HasSubstr("the same step"), HasSubstr("worker:0=13"), HasSubstr("worker:1=0")));
  }
}

}  // namespace
}  // namespace cohort::test
