#include <gtest/gtest.h>

#include "cohort/model/fit/run_control.h"
#include "cohort/saving/checkpoint_manager.h"
#include "tests/callbacks/small_run.h"
#include "tests/support/paths.h"

namespace cohort::callbacks {
namespace {

using small_run::kEpochs;
using small_run::Outcome;
using small_run::power_cut;
using small_run::Setting;
using small_run::Watcher;

// What a user's own callback does with a manager: takes a run up, and saves it after every execution.
class CheckpointedRun : public Callback {
 public:
  explicit CheckpointedRun(std::string directory) : directory_(std::move(directory)) {}
  void on_train_begin() override {
    checkpoint_ =
        std::make_unique<Checkpoint>(CheckpointContent{.model = &model()}, CheckpointOptions{.enable_async = true});
    manager_ =
        std::make_unique<CheckpointManager>(*checkpoint_, directory_, CheckpointManagerOptions{.max_to_keep = 2});
    if (const auto restored = manager_->restore_or_initialize()) run().restore(restored->position.value());
  }
  void on_train_batch_end(std::int64_t, Logs&) override { manager_->save({.position = run().position()}); }
  void on_epoch_end(std::int64_t, Logs&) override { manager_->save({.position = run().position()}); }
  bool needs_built_model() const override { return true; }

 private:
  std::string directory_;
  std::unique_ptr<Checkpoint> checkpoint_;
  std::unique_ptr<CheckpointManager> manager_;
};

class CheckpointedRuns : public testing::TestWithParam<Setting> {};

TEST_P(CheckpointedRuns, GoOnBitForBit) {
  int all = 0;
  const Outcome whole = small_run::train(GetParam(), {make<Watcher>(all, -1, -1, power_cut)});
  for (const int cut : {1, all / 2, all - 1}) {
    SCOPED_TRACE("cut after execution " + std::to_string(cut));
    const test::TemporaryFolder folder;
    int hooks = 0;
    EXPECT_THROW(small_run::train(
                     GetParam(), {make<CheckpointedRun>(folder.file("run")), make<Watcher>(hooks, cut, -1, power_cut)}),
                 std::runtime_error);
    hooks = 0;
    const Outcome resumed = small_run::train(
        GetParam(), {make<CheckpointedRun>(folder.file("run")), make<Watcher>(hooks, -1, -1, power_cut)});
    EXPECT_EQ(resumed.state, whole.state);
    EXPECT_EQ(resumed.history["loss"].back(), whole.history["loss"].back());
    EXPECT_EQ(hooks, all - cut) << "no execution is run twice";
  }
}

INSTANTIATE_TEST_SUITE_P(Settings, CheckpointedRuns,
                         testing::Values(Setting{.steps_per_execution = 5},
                                         Setting{.steps_per_epoch = 7, .steps_per_execution = 4, .repeats = true}),
                         [](const auto& info) {
                           return "Executions" + std::to_string(info.param.steps_per_execution);
                         });

}  // namespace
}  // namespace cohort::callbacks
