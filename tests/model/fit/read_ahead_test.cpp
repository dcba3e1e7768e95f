#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "cohort/datasets/datasets.h"
#include "cohort/layers/core/dense.h"
#include "cohort/model/fit/run_control.h"
#include "cohort/model/sequential.h"
#include "cohort/ops/math.h"

namespace cohort {
namespace {

using testing::ElementsAre;

class NotesStages : public Callback {
 public:
  void on_epoch_end(std::int64_t, Logs&) override {
    stages.clear();
    for (const StageStats& stage : run().data_stats()) stages.push_back(stage.stage);
  }
  BatchHooks batch_hooks() const override { return BatchHooks::None; }

  std::vector<std::string> stages;
};

// The stages that fit walks, the last one first.
std::vector<std::string> stages_of_fit(const Dataset& data) {
  Sequential model({layers::Dense(1)});
  model.compile({.optimizer = "sgd", .loss = "mse"});
  const auto notes = std::make_shared<NotesStages>();
  model.fit(data, {.epochs = 1, .verbose = 0, .callbacks = {Ref<Callback>(notes)}});
  return notes->stages;
}

Dataset pairs() { return datasets::from_tensor_slices(Tensor::full({12, 2}, 1.0), Tensor::full({12, 1}, 1.0)); }
Dataset doubled(const Dataset& data) {
  return data.map([](Tensor x, Tensor y) { return std::tuple(x * 2.0, y); });
}

TEST(ReadAhead, FitPrefetchesWhatIsComputed) {
  EXPECT_THAT(stages_of_fit(doubled(pairs().batch(4))), ElementsAre("prefetch", "map", "batch(tensor_slices)"));
  EXPECT_THAT(stages_of_fit(doubled(pairs()).batch(4)), ElementsAre("prefetch", "batch(map(tensor_slices))"));
}

TEST(ReadAhead, RowsInMemoryAreReadByTheStepItself) {
  EXPECT_THAT(stages_of_fit(pairs().shuffle(12).batch(4)), ElementsAre("batch(shuffle(tensor_slices))"));
}

TEST(ReadAhead, APrefetchOfTheProgramIsEnough) {
  EXPECT_THAT(stages_of_fit(doubled(pairs().batch(4)).prefetch(3)),
              ElementsAre("prefetch", "map", "batch(tensor_slices)"));
}

}  // namespace
}  // namespace cohort
