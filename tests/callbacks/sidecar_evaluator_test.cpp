#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "cohort/callbacks/sidecar_evaluator_early_stopping.h"
#include "cohort/callbacks/sidecar_evaluator_model_export.h"
#include "tests/callbacks/driven_callback.h"
#include "tests/support/error_of.h"
#include "tests/support/paths.h"

namespace cohort::callbacks {
namespace {

namespace fs = std::filesystem;
using test::error_of;
using testing::HasSubstr;

// Ends evaluations of checkpoints, with a loss each.
class EvaluatorCallbacks : public testing::Test {
 protected:
  bool evaluated(const Ref<Callback>& callback, std::int64_t step, double loss) {
    Sequential& model = driven_.model();
    model.stop_training = false;
    write_now(model.optimizer()->iterations(), Tensor::scalar(static_cast<double>(step), DType::Int64));
    callback->set_model(model);
    Logs logs{{"loss", loss}};
    callback->on_test_end(logs);
    return model.stop_training;
  }

  DrivenModel driven_;
  const test::TemporaryFolder folder_;
};

TEST_F(EvaluatorCallbacks, StopAfterCheckpointsWithoutImprovement) {
  const SidecarEvaluatorEarlyStopping stopping({.monitor = "val_loss", .patience = 2});
  EXPECT_FALSE(evaluated(stopping, 10, 1.0));
  EXPECT_FALSE(evaluated(stopping, 20, std::nan("")));
  EXPECT_FALSE(evaluated(stopping, 30, 0.5));
  EXPECT_FALSE(evaluated(stopping, 40, 0.6));
  EXPECT_TRUE(evaluated(stopping, 50, 0.5));
  EXPECT_FALSE(evaluated(stopping, 60, 0.4)) << "it has changed its mind";
}

TEST_F(EvaluatorCallbacks, CountCheckpointsInTheOrderOfTraining) {
  const SidecarEvaluatorEarlyStopping stopping({.patience = 2});
  EXPECT_FALSE(evaluated(stopping, 40, 0.4));
  EXPECT_FALSE(evaluated(stopping, 30, 0.5));
  EXPECT_FALSE(evaluated(stopping, 20, 0.6)) << "the newest is the best";
  EXPECT_FALSE(evaluated(stopping, 60, 0.7));
  EXPECT_TRUE(evaluated(stopping, 50, 0.7));
}

TEST_F(EvaluatorCallbacks, GoOnInAnotherProcess) {
  const SidecarEvaluatorEarlyStopping stopping({.patience = 2}), later({.patience = 2});
  const SidecarEvaluatorModelExport saving(folder_.file("a.keras")), later_saving(folder_.file("b.keras"));
  for (const Ref<Callback>& each : {Ref<Callback>(stopping), Ref<Callback>(saving)}) evaluated(each, 10, 0.1);
  evaluated(stopping, 20, 0.2);
  later->restore_state(stopping->save_state());
  EXPECT_TRUE(evaluated(later, 30, 0.2));
  later_saving->restore_state(saving->save_state());
  evaluated(later_saving, 20, 0.2);
  EXPECT_FALSE(fs::exists(folder_.file("b.keras")));
  evaluated(later_saving, 30, 0.05);
  EXPECT_TRUE(fs::exists(folder_.file("b.keras")));
}

TEST_F(EvaluatorCallbacks, SaveTheBestInAnyForm) {
  const SidecarEvaluatorModelExport model(folder_.file("{step}.keras"));
  evaluated(model, 10, 1.0);
  evaluated(model, 20, 2.0);
  evaluated(model, 30, std::nan(""));
  evaluated(model, 40, 0.5);
  for (const int step : {10, 20, 30, 40}) {
    EXPECT_EQ(fs::exists(folder_.file(std::to_string(step) + ".keras")), step == 10 || step == 40) << step;
  }
  EXPECT_EQ(model->best(), 0.5);
  evaluated(SidecarEvaluatorModelExport(folder_.file("best.graph")), 10, 1.0);
  EXPECT_TRUE(fs::exists(folder_.file("best.graph")));
  evaluated(SidecarEvaluatorModelExport(folder_.file("best.weights.h5"), {.save_weights_only = true}), 10, 1.0);
  EXPECT_TRUE(fs::exists(folder_.file("best.weights.h5")));
}

TEST_F(EvaluatorCallbacks, RefuseWhatCannotBe) {
  EXPECT_THAT(error_of([] { SidecarEvaluatorModelExport("best"); }),
              HasSubstr("InvalidArgument SidecarEvaluatorModelExport: the path must end in"));
  EXPECT_THAT(error_of([] { SidecarEvaluatorEarlyStopping({.patience = -1}); }), HasSubstr("patience=-1"));
}

}  // namespace
}  // namespace cohort::callbacks
