#include "cohort/callbacks/backup_and_restore.h"
#include "cohort/model/fit/training.h"

#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "cohort/files/atomic_file.h"
#include "cohort/saving/checkpoint_state.h"
#include "tests/callbacks/small_run.h"
#include "tests/support/error_of.h"
#include "tests/support/paths.h"

namespace cohort::callbacks {
namespace {

using namespace small_run;
using test::error_of;
using test::TemporaryFolder;

class BackupAndRestoreRuns : public testing::TestWithParam<Setting> {};

// Cuts a run off, starts it again, and returns what it comes to; `hooks` counts the batch hooks of the second part.
Outcome cut_and_go_on(const Setting& setting, const BackupAndRestoreOptions& options, int at_hook,
                      std::int64_t at_epoch, int& hooks) {
  const TemporaryFolder folder;
  const std::string backup = folder.file("backup");
  int before = 0;
  EXPECT_THROW(train(setting, {BackupAndRestore(backup, options), make<Watcher>(before, at_hook, at_epoch, power_cut)}),
               std::runtime_error);
  hooks = 0;
  Outcome outcome = train(setting, {BackupAndRestore(backup, options), make<Watcher>(hooks, -1, -1, power_cut)});
  EXPECT_FALSE(std::filesystem::exists(backup)) << "what a finished training needs no more must be gone";
  return outcome;
}

void expect_same_end(const Outcome& resumed, const Outcome& whole) {
  EXPECT_EQ(resumed.state, whole.state);
  ASSERT_FALSE(whole.history.epoch().empty());
  const std::size_t left = resumed.history.epoch().size();
  for (const char* figure : {"loss", "accuracy"}) {
    for (std::size_t i = 0; i < left; ++i) {
      EXPECT_EQ(resumed.history[figure][i], whole.history[figure][kEpochs - left + i]) << figure;
    }
  }
}

TEST_P(BackupAndRestoreRuns, GoOnAfterAnyBatchAsIfNothingHadHappened) {
  int hooks = 0;
  const Outcome whole = train(GetParam(), {make<Watcher>(hooks, -1, -1, power_cut)});
  const int all = hooks;
  ASSERT_GE(all, kEpochs);
  // Each backup is synced to the disk: some batches of each epoch must do.
  for (int cut = 1; cut <= all; cut += all > 20 ? 11 : 3) {
    SCOPED_TRACE("cut after execution " + std::to_string(cut));
    expect_same_end(cut_and_go_on(GetParam(), {.save_freq = 1}, cut, -1, hooks), whole);
    EXPECT_EQ(hooks, all - cut);  // none is run twice
  }
}

TEST_P(BackupAndRestoreRuns, GoOnAfterAnyEpoch) {
  int hooks = 0;
  const Outcome whole = train(GetParam(), {});
  for (std::int64_t epoch = 0; epoch < kEpochs; ++epoch) {
    SCOPED_TRACE("cut after epoch " + std::to_string(epoch));
    const Outcome resumed = cut_and_go_on(GetParam(), {}, -1, epoch, hooks);
    expect_same_end(resumed, whole);
    EXPECT_EQ(static_cast<std::int64_t>(resumed.history.epoch().size()), kEpochs - epoch - 1);
  }
}

TEST_P(BackupAndRestoreRuns, RepeatWhatIsNewerThanTheBackup) {
  int hooks = 0;
  const Outcome whole = train(GetParam(), {});
  for (int cut : {2, 3, 4}) {
    SCOPED_TRACE("cut after execution " + std::to_string(cut));
    expect_same_end(cut_and_go_on(GetParam(), {.save_freq = 4}, cut, -1, hooks), whole);
    expect_same_end(cut_and_go_on(GetParam(), {}, cut, -1, hooks), whole);
  }
}

// Passes as they come, epochs across passes, epochs that the data is too short for, and no trace.
INSTANTIATE_TEST_SUITE_P(Settings, BackupAndRestoreRuns,
                         testing::Values(Setting{}, Setting{.steps_per_execution = 5},
                                         Setting{.steps_per_epoch = 7, .repeats = true},
                                         Setting{.steps_per_epoch = 7, .steps_per_execution = 5, .repeats = true},
                                         Setting{.steps_per_epoch = 5, .steps_per_execution = 5},
                                         Setting{.eager = true}),
                         [](const auto& info) {
                           const Setting& setting = info.param;
                           return "Epochs" + std::to_string(setting.steps_per_epoch.value_or(0)) + "Executions" +
                                  std::to_string(setting.steps_per_execution) + (setting.repeats ? "Repeated" : "") +
                                  (setting.eager ? "Eager" : "");
                         });

TEST(BackupAndRestore, GoesOnInTheSameModelToo) {
  const Outcome whole = train({}, {});
  const TemporaryFolder folder;
  set_random_seed(7);
  const Dataset batches = data({});
  Sequential model({layers::Dense(12, {.activation = "relu"}), layers::Dropout(0.3), layers::Dense(4)});
  model.compile({.optimizer = optimizers::Adam(1e-2),
                 .loss = losses::SparseCategoricalCrossentropy({.from_logits = true}),
                 .metrics = {"accuracy"}});
  int hooks = 0;
  const BackupAndRestore backup(folder.file("backup"));
  EXPECT_THROW(model.fit(batches, {.epochs = kEpochs,
                                   .verbose = 0,
                                   .callbacks = {backup, make<Watcher>(hooks, 2 * kPass + 3, -1, power_cut)}}),
               std::runtime_error);
  model.fit(batches, {.epochs = kEpochs, .verbose = 0, .callbacks = {backup}});
  EXPECT_EQ(state_of(model), whole.state);
  EXPECT_EQ(model.training().begin_fit(), 1u);  // it was one fit
}

// A layer that says how often it was traced.
class Traced : public Layer {
 public:
  explicit Traced(int& calls) : calls_(calls) {}
  Tensor call(const Tensor& x, const CallContext&) override {
    ++calls_;
    return x;
  }

 private:
  int& calls_;
};

TEST(BackupAndRestore, TracesTheStepOnce) {
  const TemporaryFolder folder;
  int calls = 0;
  Sequential model({layers::Dense(4), make<Traced>(calls)});
  model.compile({.optimizer = "sgd", .loss = losses::SparseCategoricalCrossentropy({.from_logits = true})});
  model.fit(data({}), {.epochs = 2, .verbose = 0, .callbacks = {BackupAndRestore(folder.file("backup"))}});
  const int with_backup = calls;
  calls = 0;
  Sequential other({layers::Dense(4), make<Traced>(calls)});
  other.compile({.optimizer = "sgd", .loss = losses::SparseCategoricalCrossentropy({.from_logits = true})});
  other.fit(data({}), {.epochs = 2, .verbose = 0});
  EXPECT_EQ(with_backup, calls);
}

// The files of the newest backup: its index and its data.
std::string newest_file(const std::string& folder, const std::string& ending) {
  std::string newest;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string path = entry.path().string();
    const std::string number = std::filesystem::path(*latest_checkpoint(folder)).filename().string() + ".";
    if (entry.path().filename().string().starts_with(number) && path.find(ending) != std::string::npos) newest = path;
  }
  return newest;
}

// Leaves a backup of a run that was cut off after its second epoch.
void leave_backup(const std::string& folder, bool double_checkpoint = false) {
  int hooks = 0;
  EXPECT_THROW(train({}, {BackupAndRestore(folder, {.double_checkpoint = double_checkpoint}),
                          make<Watcher>(hooks, -1, 1, power_cut)}),
               std::runtime_error);
}

TEST(BackupAndRestore, RefusesADamagedBackup) {
  const TemporaryFolder folder;
  leave_backup(folder.file("backup"));
  const auto resume = [&] { train({}, {BackupAndRestore(folder.file("backup"))}); };
  for (const char* kind : {".index", ".data-"}) {
    const std::string file = newest_file(folder.file("backup"), kind);
    const std::string whole = read_file(file);
    std::string flipped = whole;
    flipped[whole.size() / 2] ^= 1;
    for (const std::string& bytes : {flipped, whole.substr(0, whole.size() / 2), std::string(), std::string(64, 'x')}) {
      write_file_atomically(file, bytes);
      const std::string error = error_of(resume);
      EXPECT_NE(error.find("DataLoss BackupAndRestore: "), std::string::npos) << error;
      EXPECT_NE(error.find("Remove the folder"), std::string::npos) << error;
      EXPECT_EQ(read_file(file), bytes);
    }
    write_file_atomically(file, whole);
  }
  EXPECT_EQ(error_of(resume), "");
}

TEST(BackupAndRestore, RefusesTheBackupOfAnotherRun) {
  const TemporaryFolder folder;
  leave_backup(folder.file("backup"));
  const auto resume = [&](const Ref<Optimizer>& optimizer, std::int64_t units, const Dataset& batches) {
    Sequential model({layers::Dense(units, {.activation = "relu"}), layers::Dropout(0.3), layers::Dense(4)});
    model.compile({.optimizer = optimizer, .loss = losses::SparseCategoricalCrossentropy({.from_logits = true})});
    model.fit(batches, {.epochs = kEpochs, .verbose = 0, .callbacks = {BackupAndRestore(folder.file("backup"))}});
  };
  const auto error = [&](const Ref<Optimizer>& optimizer, std::int64_t units, const Dataset& batches) {
    return error_of([&] { resume(optimizer, units, batches); });
  };
  EXPECT_NE(error("sgd", 12, data({})).find("optimizer: saved Adam, here SGD"), std::string::npos);
  EXPECT_NE(error("adam", 13, data({})).find("saved float32(6, 12), here float32(6, 13)"), std::string::npos);
  EXPECT_NE(error("adam", 12, data({}).enumerate().map([](Tensor, Tensor x, Tensor y) {
              return std::tuple(x, y);
            })).find("the same data"),
            std::string::npos);
  EXPECT_EQ(error("adam", 12, data({})), "");
}

TEST(BackupAndRestore, TakesTheOneBeforeWhenTheLastIsDamaged) {
  const Outcome whole = train({}, {});
  const TemporaryFolder folder;
  leave_backup(folder.file("backup"), true);
  ASSERT_EQ(checkpoints_in(folder.file("backup")).size(), 2u);
  const std::string file = newest_file(folder.file("backup"), ".data-");
  write_file_atomically(file, read_file(file).substr(100));
  const Outcome resumed = train({}, {BackupAndRestore(folder.file("backup"), {.double_checkpoint = true})});
  EXPECT_EQ(resumed.history.epoch().size(), 3u);  // from the end of the first epoch
  expect_same_end(resumed, whole);
  EXPECT_FALSE(std::filesystem::exists(folder.file("backup")));
}

TEST(BackupAndRestore, TidiesUpItsOwnFilesOnly) {
  const TemporaryFolder folder;
  leave_backup(folder.file("backup"));
  std::ofstream(folder.file("backup/backup-3.index.tmp.1.0")) << "half a fi";
  std::ofstream(folder.file("backup/notes.txt")) << "mine";
  train({}, {BackupAndRestore(folder.file("backup"))});
  std::vector<std::string> left;
  for (const auto& entry : std::filesystem::directory_iterator(folder.file("backup"))) {
    left.push_back(entry.path().filename());
  }
  EXPECT_EQ(left, std::vector<std::string>{"notes.txt"});
}

TEST(BackupAndRestore, KeepsTheBackupWhenAsked) {
  const TemporaryFolder folder;
  const BackupAndRestoreOptions options{.delete_checkpoint = false};
  const Outcome whole = train({}, {BackupAndRestore(folder.file("backup"), options)});
  ASSERT_EQ(checkpoints_in(folder.file("backup")).size(), 1u);
  const Outcome again = train({}, {BackupAndRestore(folder.file("backup"), options)});
  EXPECT_TRUE(again.history.epoch().empty());
  EXPECT_EQ(again.state, whole.state);
}

TEST(BackupAndRestore, OutlivesCtrlC) {
  const Outcome whole = train({}, {});
  const TemporaryFolder folder;
  int hooks = 0;
  const auto interrupted = [&] {
    train({},
          {BackupAndRestore(folder.file("backup")), make<Watcher>(hooks, kPass + 2, -1, [] { std::raise(SIGINT); })});
  };
  EXPECT_NE(error_of(interrupted).find("Cancelled"), std::string::npos);
  expect_same_end(train({}, {BackupAndRestore(folder.file("backup"))}), whole);
}

// Without it the run would go on from the end of an epoch.
TEST(BackupAndRestore, SavesTheVeryBatchThatSIGTERMCameAt) {
  for (const bool averages : {false, true}) {
    const Setting setting{.averages = averages};
    const Outcome whole = train(setting, {});
    for (const int cut : {1, kPass + 2, 2 * kPass}) {
      SCOPED_TRACE(cut);
      const TemporaryFolder folder;
      int hooks = 0;
      const auto terminated = [&] {
        train(setting,
              {make<Watcher>(hooks, cut, -1, [] { std::raise(SIGTERM); }), BackupAndRestore(folder.file("backup"))});
      };
      EXPECT_NE(error_of(terminated).find("SIGTERM"), std::string::npos);
      hooks = 0;
      expect_same_end(
          train(setting, {make<Watcher>(hooks, -1, -1, power_cut), BackupAndRestore(folder.file("backup"))}), whole);
      EXPECT_EQ(hooks, static_cast<int>(kEpochs) * kPass - cut);
    }
  }
}

// Presses at a batch of a validation.
class TerminatesValidation : public Callback {
 public:
  explicit TerminatesValidation(int batch) : left_(batch) {}
  void on_test_batch_end(std::int64_t, Logs&) override {
    if (--left_ == 0) std::raise(SIGTERM);
  }

 private:
  int left_;
};

TEST(BackupAndRestore, SIGTERMInAValidationLosesNoEpoch) {
  const TemporaryFolder folder;
  const auto run = [&](const std::vector<Ref<Callback>>& callbacks) {
    set_random_seed(7);
    Sequential model({layers::Dense(12), layers::Dropout(0.3), layers::Dense(4)});
    model.compile({.optimizer = "adam",
                   .loss = losses::SparseCategoricalCrossentropy({.from_logits = true}),
                   .metrics = {"accuracy"}});
    const History history = model.fit(
        data({}), {.epochs = 3, .verbose = 0, .validation_data = DataArgument(data({})), .callbacks = callbacks});
    return std::pair(state_of(model), history);
  };
  const auto whole = run({});
  const auto terminated = [&] {
    run({make<TerminatesValidation>(kPass + 3), BackupAndRestore(folder.file("backup"))});
  };
  EXPECT_NE(error_of(terminated).find("SIGTERM"), std::string::npos);
  const auto resumed = run({BackupAndRestore(folder.file("backup"))});
  EXPECT_EQ(resumed.first, whole.first);
  EXPECT_EQ(resumed.second.epoch(), (std::vector<std::int64_t>{1, 2}));
  for (const char* name : {"loss", "accuracy"}) EXPECT_EQ(resumed.second[name][0], whole.second[name][1]) << name;
}

// Epochs have nine batches: the count goes on over their borders, and over a restart.
TEST(BackupAndRestore, CountsBatchesAcrossEpochs) {
  const TemporaryFolder folder;
  const std::string backup = folder.file("backup");
  const BackupAndRestoreOptions options{.save_freq = 7};
  for (const int cut : {6, 7, 13, 14, 20, 21, 28, 4 * kPass}) {
    std::filesystem::remove_all(backup);
    int hooks = 0;
    EXPECT_THROW(train({}, {BackupAndRestore(backup, options), make<Watcher>(hooks, cut, -1, power_cut)}),
                 std::runtime_error);
    const std::vector<std::string> saved = checkpoints_in(backup);
    const std::vector<std::string> newest = {"backup-" + std::to_string(cut / 7)};
    EXPECT_EQ(saved, cut < 7 ? std::vector<std::string>() : newest) << cut;
  }
  // After 35 batches; the next one is the last.
  int hooks = 0;
  train({}, {BackupAndRestore(backup, options), make<Watcher>(hooks, -1, -1, power_cut)});
  EXPECT_EQ(hooks, 1);
}

TEST(BackupAndRestore, GoesOnFromALaterInitialEpoch) {
  const TemporaryFolder folder;
  const auto run = [&](const std::vector<Ref<Callback>>& callbacks) {
    set_random_seed(7);
    Sequential model({layers::Dense(12), layers::Dropout(0.3), layers::Dense(4)});
    model.compile({.optimizer = "adam", .loss = losses::SparseCategoricalCrossentropy({.from_logits = true})});
    const History history =
        model.fit(data({}), {.epochs = kEpochs, .verbose = 0, .initial_epoch = 1, .callbacks = callbacks});
    return std::pair(state_of(model), history.epoch());
  };
  const auto whole = run({});
  EXPECT_EQ(whole.second, (std::vector<std::int64_t>{1, 2, 3}));
  int hooks = 0;
  EXPECT_THROW(run({BackupAndRestore(folder.file("backup")), make<Watcher>(hooks, 2 * kPass - 1, -1, power_cut)}),
               std::runtime_error);
  const auto resumed = run({BackupAndRestore(folder.file("backup"))});
  EXPECT_EQ(resumed.first, whole.first);
  EXPECT_EQ(resumed.second, (std::vector<std::int64_t>{2, 3}));
}

TEST(BackupAndRestore, ServesOneFitAfterTheOther) {
  const TemporaryFolder folder;
  const auto run = [&](const std::vector<Ref<Callback>>& callbacks) {
    set_random_seed(7);
    Sequential model({layers::Dense(12), layers::Dropout(0.3), layers::Dense(4)});
    model.compile({.optimizer = "adam", .loss = losses::SparseCategoricalCrossentropy({.from_logits = true})});
    const Dataset batches = data({});
    for (int fit = 0; fit < 2; ++fit) {
      const History history = model.fit(batches, {.epochs = 2, .verbose = 0, .callbacks = callbacks});
      EXPECT_EQ(history.epoch().size(), 2u);
    }
    return state_of(model);
  };
  EXPECT_EQ(run({BackupAndRestore(folder.file("backup"), {.save_freq = 4})}), run({}));
}

// What a refused backup brings must not be left in the model.
TEST(BackupAndRestore, ChangesNothingWhenItRefuses) {
  const TemporaryFolder folder;
  leave_backup(folder.file("backup"));
  Sequential model({layers::Dense(12, {.activation = "relu"}), layers::Dropout(0.3), layers::Dense(4)});
  model.compile({.optimizer = optimizers::Adam(1e-2),
                 .loss = losses::SparseCategoricalCrossentropy({.from_logits = true}),
                 .metrics = {"accuracy"}});
  model.build({kBatch, 6});
  const std::vector<float> before = state_of(model);
  const auto other_data = data({}).enumerate().map([](Tensor, Tensor x, Tensor y) { return std::tuple(x, y); });
  EXPECT_NE(error_of([&] {
              model.fit(other_data, {.verbose = 0, .callbacks = {BackupAndRestore(folder.file("backup"))}});
            }).find("the same data"),
            std::string::npos);
  std::vector<float> after = state_of(model);
  after.resize(before.size());  // the optimizer has been built since
  EXPECT_EQ(after, before);
}

TEST(BackupAndRestore, RefusesWhatItCannotDo) {
  EXPECT_NE(error_of([] { BackupAndRestore(""); }).find("backup_dir"), std::string::npos);
  EXPECT_NE(error_of([] { BackupAndRestore("b", {.save_freq = "batch"}); }).find("save_freq=batch"), std::string::npos);
  EXPECT_NE(error_of([] { BackupAndRestore("b", {.save_freq = 0}); }).find("save_freq=0"), std::string::npos);
}

}  // namespace
}  // namespace cohort::callbacks
