// Callbacks that steer a run by what they have seen go on with it when the run goes on in another process.
#include <gtest/gtest.h>

#include "cohort/data/iterator_state.h"
#include "cohort/files/atomic_file.h"
#include "tests/callbacks/small_run.h"
#include "tests/support/paths.h"

namespace cohort::callbacks {
namespace {

using namespace small_run;
using test::TemporaryFolder;

// No loss falls by that much in an epoch.
constexpr double kNeverImproved = 100.0;

// A run that these have changed the course of: they lower the learning rate, stop it early and take old weights back.
Outcome steered_run(const std::string& backup, const BackupAndRestoreOptions& options, int at_hook,
                    std::int64_t at_epoch) {
  int hooks = 0;
  return train(
      {}, {LearningRateScheduler([](std::int64_t, double rate) { return rate * 0.9; }),
           ReduceLROnPlateau({.monitor = "loss", .factor = 0.5, .patience = 1, .min_delta = kNeverImproved}),
           EarlyStopping({.monitor = "loss", .min_delta = kNeverImproved, .patience = 2, .restore_best_weights = true}),
           BackupAndRestore(backup, options), make<Watcher>(hooks, at_hook, at_epoch, power_cut)});
}

TEST(RestoredCallbacks, SteerARunAsIfItHadNeverStopped) {
  const TemporaryFolder folder;
  const Outcome whole = steered_run(folder.file("whole"), {}, -1, -1);
  ASSERT_EQ(whole.history.epoch().size(), 3u);  // of four: it was stopped
  for (const BackupAndRestoreOptions& options : {BackupAndRestoreOptions{}, BackupAndRestoreOptions{.save_freq = 4}}) {
    for (int cut = 1; cut <= 3 * kPass; cut += 10) {
      SCOPED_TRACE("cut after batch " + std::to_string(cut));
      EXPECT_THROW(steered_run(folder.file("backup"), options, cut, -1), std::runtime_error);
      EXPECT_EQ(steered_run(folder.file("backup"), options, -1, -1).state, whole.state);
    }
    for (std::int64_t epoch = 0; epoch < 3; ++epoch) {
      SCOPED_TRACE("cut after epoch " + std::to_string(epoch));
      EXPECT_THROW(steered_run(folder.file("backup"), options, -1, epoch), std::runtime_error);
      EXPECT_EQ(steered_run(folder.file("backup"), options, -1, -1).state, whole.state);
    }
  }
}

TEST(RestoredCallbacks, ModelCheckpointKnowsTheBestSoFar) {
  const TemporaryFolder folder;
  // The loss falls: the first epoch stays the best.
  const auto run = [&](std::int64_t cut) {
    int hooks = 0;
    train({}, {ModelCheckpoint(folder.file("best.weights.h5"),
                               {.monitor = "loss", .save_best_only = true, .save_weights_only = true, .mode = "max"}),
               BackupAndRestore(folder.file("backup")), make<Watcher>(hooks, -1, cut, power_cut)});
  };
  EXPECT_THROW(run(1), std::runtime_error);
  const std::string best = read_file(folder.file("best.weights.h5"));
  run(-1);
  EXPECT_EQ(read_file(folder.file("best.weights.h5")), best);
}

// The backup is taken while the averages are in the model.
TEST(RestoredCallbacks, SwapEMAWeightsKnowsWhatIsInTheModel) {
  const TemporaryFolder folder;
  const auto run = [&](std::int64_t cut) {
    int hooks = 0;
    return train({.averages = true}, {SwapEMAWeights({.swap_on_epoch = true}), BackupAndRestore(folder.file("backup")),
                                      make<Watcher>(hooks, -1, cut, power_cut)});
  };
  const Outcome whole = run(-1);
  EXPECT_THROW(run(1), std::runtime_error);
  EXPECT_EQ(run(-1).state, whole.state);
}

// One of a user's own.
class BatchCounter : public Callback {
 public:
  explicit BatchCounter(std::uint64_t& batches) : batches_(batches) {}
  void on_train_begin() override { batches_ = 0; }
  void on_train_batch_end(std::int64_t, Logs&) override { ++batches_; }
  std::string save_state() const override {
    std::string state;
    StateWriter(state).number(batches_);
    return state;
  }
  void restore_state(std::string_view state) override { batches_ = StateReader(state).number(); }

 private:
  std::uint64_t& batches_;
};

TEST(RestoredCallbacks, OfTheSameKindAreToldApartByTheirOrder) {
  const TemporaryFolder folder;
  std::uint64_t first = 0, second = 0;
  int hooks = 0;
  EXPECT_THROW(train({}, {make<BatchCounter>(first), BackupAndRestore(folder.file("backup")),
                          make<Watcher>(hooks, kPass + 3, -1, power_cut)}),
               std::runtime_error);
  train({}, {make<BatchCounter>(first), make<BatchCounter>(second), BackupAndRestore(folder.file("backup"))});
  EXPECT_EQ(first, static_cast<std::uint64_t>(kEpochs * kPass));
  EXPECT_EQ(second, static_cast<std::uint64_t>((kEpochs - 1) * kPass));  // was not there in the first epoch
}

}  // namespace
}  // namespace cohort::callbacks
