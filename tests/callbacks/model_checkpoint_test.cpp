#include "cohort/callbacks/model_checkpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "cohort/datasets/datasets.h"
#include "cohort/layers/core/dense.h"
#include "cohort/model/model_format.h"
#include "cohort/model/sequential.h"
#include "cohort/optimizers/sgd.h"
#include "cohort/saving/keras_archive.h"
#include "tests/support/error_of.h"
#include "tests/support/paths.h"

namespace cohort::callbacks {
namespace {

namespace fs = std::filesystem;
using test::error_of;
using test::TemporaryFolder;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// A format as a user would add one: how many weights there are.
void save_tally(const Model& model, const std::string& path, bool) { std::ofstream(path) << model.weights().size(); }
const bool tally_registered = register_model_format({.ending = ".tally", .save_weights = save_tally});

// A model that fits numbers, and hooks that can be called by hand.
class ModelCheckpointTest : public testing::Test {
 protected:
  ModelCheckpointTest() : model_({layers::Dense(1, {.use_bias = false})}) {
    model_.build({kUnknown, 1});
    model_.compile({.optimizer = optimizers::SGD(0.1), .loss = "mse", .metrics = {"accuracy", "mae"}});
    model_.test_on_batch(Tensor::full({2, 1}, 1), Tensor::full({2, 1}, 1));  // makes the metrics
  }
  // Ends epochs with these values of a figure; returns after which of them something was saved.
  std::vector<int> saved_after(const ModelCheckpoint& callback, const char* figure, const std::vector<double>& values) {
    callback->set_model(model_);
    std::vector<int> saved;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const auto epoch = static_cast<std::int64_t>(i);
      Logs logs{{figure, values[i]}};
      callback->on_epoch_begin(epoch);
      callback->on_epoch_end(epoch, logs);
      for (const std::string& file : files()) {
        fs::remove(folder_.file(file));
        saved.push_back(static_cast<int>(epoch) + 1);
      }
    }
    return saved;
  }
  std::vector<std::string> files(const std::string& below = "") const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_.path() / below)) {
      names.push_back(entry.path().filename());
    }
    std::sort(names.begin(), names.end());
    return names;
  }
  void fit(const ModelCheckpoint& callback, std::int64_t epochs, std::int64_t steps) {
    const Tensor x = Tensor::full({8, 1}, 1.0);
    model_.fit(datasets::from_tensor_slices(x, x).repeat().batch(2),
               {.epochs = epochs, .verbose = 0, .steps_per_epoch = steps, .callbacks = {callback}});
  }

  const TemporaryFolder folder_;
  Sequential model_;
};

TEST_F(ModelCheckpointTest, RefusesPathsItCouldNotWriteLater) {
  for (const char* path : {"{epoch}.keras", "x.h5", "x.weights.h5"}) EXPECT_NO_THROW(ModelCheckpoint{path}) << path;
  EXPECT_NO_THROW(ModelCheckpoint("{epoch}.weights.h5", {.save_weights_only = true}));
  for (const char* path : {"x", "x.hdf5", "x.graph", "x.tally", "keras", ""}) {
    EXPECT_THAT(error_of([&] { ModelCheckpoint{path}; }),
                AllOf(HasSubstr("ModelCheckpoint: the path must end in .h5 or .keras"), HasSubstr("path=")))
        << path;
  }
  for (const char* path : {"x.h5", "x.hdf5", "x.keras", "weights.h5", "weights"}) {
    EXPECT_THAT(error_of([&] { ModelCheckpoint(path, {.save_weights_only = true}); }),
                AllOf(HasSubstr("must end in .tally or .weights.h5"), HasSubstr(path)));
  }
}

TEST_F(ModelCheckpointTest, SavesInAFormatThatAUserRegistered) {
  ASSERT_TRUE(tally_registered);
  fit(ModelCheckpoint(folder_.file("{epoch}.tally"), {.save_weights_only = true}), 2, 2);
  EXPECT_THAT(files(), ElementsAre("1.tally", "2.tally"));
  std::ifstream file(folder_.file("2.tally"));
  std::size_t weights = 0;
  file >> weights;
  EXPECT_EQ(weights, model_.weights().size());
}

TEST_F(ModelCheckpointTest, RefusesFrequenciesThatAreNone) {
  EXPECT_THAT(error_of([] { ModelCheckpoint("x.keras", {.save_freq = "batch"}); }),
              AllOf(HasSubstr("'epoch'"), HasSubstr("save_freq=batch")));
  EXPECT_THAT(error_of([] { ModelCheckpoint("x.keras", {.save_freq = 0}); }), HasSubstr("save_freq=0"));
}

TEST_F(ModelCheckpointTest, SavesEachEpochUnderItsFiguresAndMakesFolders) {
  fit(ModelCheckpoint(folder_.file("a/b/{epoch:02d}-{loss:.3f}.weights.h5"), {.save_weights_only = true}), 2, 2);
  const std::vector<std::string> names = files("a/b");
  ASSERT_EQ(names.size(), 2u);
  EXPECT_THAT(names[0], testing::MatchesRegex("01-[0-9]+\\.[0-9]{3}\\.weights\\.h5"));
  EXPECT_THAT(names[1], testing::MatchesRegex("02-[0-9]+\\.[0-9]{3}\\.weights\\.h5"));
}

TEST_F(ModelCheckpointTest, WhatItSavesIsTheModelOfThatMoment) {
  fit(ModelCheckpoint(folder_.file("{epoch}.keras")), 2, 2);
  const Ref<Model> loaded = load_model(folder_.file("2.keras"));
  EXPECT_EQ(read_now(loaded->weights()[0]).item<float>(), read_now(model_.weights()[0]).item<float>());
  EXPECT_EQ(read_now(loaded->optimizer()->iterations()).item<std::int64_t>(), 4);
  const Ref<Model> earlier = load_model(folder_.file("1.keras"));
  EXPECT_EQ(read_now(earlier->optimizer()->iterations()).item<std::int64_t>(), 2);
  EXPECT_NE(read_now(earlier->weights()[0]).item<float>(), read_now(model_.weights()[0]).item<float>());
}

TEST_F(ModelCheckpointTest, SavesAfterBatchesAcrossEpochs) {
  fit(ModelCheckpoint(folder_.file("{epoch}-{batch}.weights.h5"), {.save_weights_only = true, .save_freq = 4}), 3, 6);
  EXPECT_THAT(files(), ElementsAre("1-4.weights.h5", "2-2.weights.h5", "2-6.weights.h5", "3-4.weights.h5"));
}

TEST_F(ModelCheckpointTest, CountsBatchesOfAnExecutionAsKerasDoes) {
  model_.compile({.optimizer = optimizers::SGD(0.1), .loss = "mse", .steps_per_execution = 3});
  fit(ModelCheckpoint(folder_.file("{epoch}-{batch}.weights.h5"), {.save_weights_only = true, .save_freq = 4}), 2, 7);
  // Hooks come after batches 3, 6 and 7.
  EXPECT_THAT(files(), ElementsAre("1-6.weights.h5", "2-3.weights.h5", "2-7.weights.h5"));
}

TEST_F(ModelCheckpointTest, SavesOnlyWhatIsBetter) {
  const std::string path = folder_.file("best.weights.h5");
  const ModelCheckpointOptions best{.save_best_only = true, .save_weights_only = true};
  EXPECT_THAT(saved_after(ModelCheckpoint(path, best), "val_loss", {3, 4, 2, 2, 1.5, NAN, 1}), ElementsAre(1, 3, 5, 7));
  EXPECT_THAT(
      saved_after(ModelCheckpoint(path, {.monitor = "val_accuracy", .save_best_only = true, .save_weights_only = true}),
                  "val_accuracy", {.3, .4, .2, .4, .5}),
      ElementsAre(1, 2, 5));
  EXPECT_THAT(
      saved_after(ModelCheckpoint(path, {.monitor = "val_mae", .save_best_only = true, .save_weights_only = true}),
                  "val_mae", {3, 4, 2}),
      ElementsAre(1, 3));
  EXPECT_THAT(
      saved_after(
          ModelCheckpoint(path, {.monitor = "own", .save_best_only = true, .save_weights_only = true, .mode = "max"}),
          "own", {1, 3, 2}),
      ElementsAre(1, 2));
}

TEST_F(ModelCheckpointTest, MustBeatTheInitialThreshold) {
  const auto with = [&](const char* mode, double threshold) {
    return ModelCheckpoint(
        folder_.file("best.weights.h5"),
        {.save_best_only = true, .save_weights_only = true, .mode = mode, .initial_value_threshold = threshold});
  };
  EXPECT_THAT(saved_after(with("min", 2.5), "val_loss", {3, 2.5, 2, 2.2}), ElementsAre(3));
  EXPECT_THAT(saved_after(with("max", 2.5), "val_loss", {2, 2.5, 3, 2}), ElementsAre(3));
  EXPECT_THAT(saved_after(with("min", -1), "val_loss", {3, 2}), IsEmpty());
  const ModelCheckpoint kept = with("min", 2.5);
  saved_after(kept, "val_loss", {2, 9});
  EXPECT_EQ(kept->best(), 2);
}

TEST_F(ModelCheckpointTest, SavesAllWhenTheFigureIsNotThere) {
  const ModelCheckpoint callback(folder_.file("x.weights.h5"), {.save_best_only = true, .save_weights_only = true});
  testing::internal::CaptureStderr();
  EXPECT_THAT(saved_after(callback, "loss", {1, 2}), ElementsAre(1, 2));
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("val_loss"));
}

TEST_F(ModelCheckpointTest, SaysWhatItDoesAsKerasSaysIt) {
  const std::string path = folder_.file("x.weights.h5");
  testing::internal::CaptureStdout();
  saved_after(ModelCheckpoint(path, {.verbose = 1, .save_best_only = true, .save_weights_only = true}), "val_loss",
              {2, 1, 3});
  saved_after(ModelCheckpoint(path, {.verbose = 1, .save_weights_only = true}), "val_loss", {2});
  EXPECT_EQ(testing::internal::GetCapturedStdout(),
            "\nEpoch 1: val_loss improved from None to 2.00000, saving model to " + path +
                "\n\nEpoch 1: finished saving model to " + path +
                "\n\nEpoch 2: val_loss improved from 2.00000 to 1.00000, saving model to " + path +
                "\n\nEpoch 2: finished saving model to " + path +
                "\n\nEpoch 3: val_loss did not improve from 1.00000\n" + "\nEpoch 1: saving model to " + path +
                "\n\nEpoch 1: finished saving model to " + path + "\n");
}

TEST_F(ModelCheckpointTest, ReplacesAFileWholeAndLeavesTheOldOneWhenItCannot) {
  const std::string path = folder_.file("x.weights.h5");
  const ModelCheckpoint callback(path, {.save_weights_only = true});
  std::ofstream(path) << "something older";
  fit(callback, 1, 1);
  EXPECT_EQ(error_of([&] { model_.load_weights(path); }), "");
  EXPECT_THAT(files(), ElementsAre("x.weights.h5"));
  fs::remove(path);
  fs::create_directory(path);
  EXPECT_THAT(error_of([&] { fit(callback, 1, 1); }), AllOf(HasSubstr("must name a file"), HasSubstr(path)));
  EXPECT_TRUE(fs::is_directory(path));
}

TEST_F(ModelCheckpointTest, NamesTheFieldThatIsNotLogged) {
  EXPECT_THAT(error_of([&] { fit(ModelCheckpoint(folder_.file("{val_loss}.keras")), 1, 1); }),
              AllOf(HasSubstr("ModelCheckpoint"), HasSubstr("field=val_loss"), HasSubstr("Known figures: epoch")));
  EXPECT_THAT(error_of([&] { fit(ModelCheckpoint(folder_.file("{batch}.keras")), 1, 1); }), HasSubstr("field=batch"));
}

}  // namespace
}  // namespace cohort::callbacks
