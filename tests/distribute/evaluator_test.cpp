#include "cohort/distribute/evaluator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <thread>

#include "cohort/callbacks/callbacks.h"
#include "cohort/datasets/datasets.h"
#include "cohort/layers/core/dense.h"
#include "cohort/model/model_format.h"
#include "cohort/model/sequential.h"
#include "cohort/optimizers/sgd.h"
#include "cohort/saving/checkpoint_manager.h"
#include "tests/summary/events_of.h"
#include "tests/support/deadline.h"
#include "tests/support/error_of.h"
#include "tests/support/paths.h"
#include "tests/support/started_program.h"

namespace cohort::distribute {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using cohort::test::becomes_true;
using cohort::test::error_of;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::UnorderedElementsAre;

// A model of one weight, on data that it fits with a weight of 2.
struct OneWeight : Sequential {
  OneWeight() : Sequential({layers::Dense(1, {.use_bias = false, .kernel_initializer = "zeros"})}) {
    compile({.optimizer = optimizers::SGD(0.05), .loss = "mse", .metrics = {"mae"}});
  }
};
Dataset doubled_numbers() {
  return datasets::from_tensor_slices(Tensor::of(std::vector<float>{1, 2, 3, 4}, {4, 1}),
                                      Tensor::of(std::vector<float>{2, 4, 6, 8}, {4, 1}))
      .batch(2);
}

// A file that is gone once somebody has begun to read it.
void read_vanishing(Model&, const std::string& path, const LoadWeightsOptions&) {
  fs::remove(path);
  throw Error(ErrorCode::DataLoss, "vanishing", "must be readable to its end");
}
const bool vanishing_registered = register_model_format({.ending = ".vanishing", .load_weights = read_vanishing});

class SidecarEvaluatorTest : public testing::Test {
 protected:
  // Trains for some epochs of two steps, with a file of weights for each, and says that it is over.
  void train(std::int64_t epochs, const std::string& name = "ckpt-{epoch}.weights.h5") {
    OneWeight model;
    model.fit(doubled_numbers(),
              {.epochs = epochs,
               .verbose = 0,
               .callbacks = {
                   callbacks::ModelCheckpoint(checkpoint(name), {.save_weights_only = name.ends_with(".weights.h5")}),
                   callbacks::StopFromEvaluator(folder())}});
  }
  std::vector<Evaluation> evaluate(SidecarEvaluatorOptions options = {}) {
    OneWeight model;
    options.verbose = 0;
    options.poll_interval = 0.02;
    SidecarEvaluator evaluator(model, doubled_numbers(), folder(), std::move(options));
    evaluator.start();
    return evaluator.evaluations();
  }
  static std::vector<std::string> names(const std::vector<Evaluation>& evaluations) {
    std::vector<std::string> result;
    for (const Evaluation& each : evaluations) result.push_back(each.checkpoint);
    return result;
  }
  // How often each step was logged under a tag.
  std::map<std::int64_t, int> logged(const std::string& tag) const {
    std::map<std::int64_t, int> steps;
    for (const auto& entry : fs::directory_iterator(logs() + "/validation")) {
      for (const summary::Event& event : summary::events_of(entry.path().string())) {
        for (const auto& value : event.summary().value()) steps[event.step()] += value.tag() == tag;
      }
    }
    return steps;
  }
  std::string folder() const { return folder_.file("ckpt"); }
  std::string logs() const { return folder_.file("logs"); }
  std::string checkpoint(const std::string& name) const { return folder() + "/" + name; }

  const cohort::test::Deadline deadline_{60s};
  const cohort::test::TemporaryFolder folder_;
};

TEST_F(SidecarEvaluatorTest, EvaluatesEachCheckpointOnceTheNewestFirst) {
  train(3);
  const std::vector<Evaluation> evaluations = evaluate({.log_dir = logs()});
  EXPECT_THAT(names(evaluations), ElementsAre("ckpt-3.weights.h5", "ckpt-2.weights.h5", "ckpt-1.weights.h5"));
  for (const Evaluation& each : evaluations) {
    OneWeight model;
    model.build({kUnknown, 1});
    model.load_weights(checkpoint(each.checkpoint));
    const Logs expected = model.evaluate(doubled_numbers(), {.verbose = 0});
    EXPECT_EQ(each.logs["loss"], expected["loss"]);
    EXPECT_EQ(each.logs["mae"], expected["mae"]);
  }
  const std::map<std::int64_t, int> each_once = {{2, 1}, {4, 1}, {6, 1}};
  EXPECT_EQ(logged("evaluation_loss_vs_iterations"), each_once);
  EXPECT_EQ(logged("evaluation_mae_vs_iterations"), each_once);
}

TEST_F(SidecarEvaluatorTest, ReadsWhateverATrainingWrites) {
  OneWeight model;
  model.fit(doubled_numbers(),
            {.epochs = 1, .verbose = 0, .callbacks = {callbacks::ModelCheckpoint(checkpoint("whole.keras"))}});
  Checkpoint saved({.model = &model});
  CheckpointManager manager(saved, folder());
  manager.save();
  train(1);  // says that it is over
  const std::vector<Evaluation> evaluations = evaluate();
  EXPECT_THAT(names(evaluations), UnorderedElementsAre("whole.keras", "ckpt-1", "ckpt-1.weights.h5"));
  for (const Evaluation& each : evaluations) {
    EXPECT_EQ(each.step, 2) << each.checkpoint;
    EXPECT_EQ(each.logs["loss"], evaluations[0].logs["loss"]) << each.checkpoint;
  }
}

TEST_F(SidecarEvaluatorTest, GoesOnWhereTheLastOneEnded) {
  train(2);
  EXPECT_EQ(evaluate({.max_evaluations = 1, .log_dir = logs()}).size(), 1u);
  EXPECT_THAT(names(evaluate({.log_dir = logs()})), ElementsAre("ckpt-2.weights.h5", "ckpt-1.weights.h5"));
  EXPECT_THAT(logged("evaluation_loss_vs_iterations"), (std::map<std::int64_t, int>{{2, 1}, {4, 1}}));
  // The mark of a training that is over does not end the evaluation of the next one.
  EXPECT_THAT(error_of([&] { evaluate({.timeout = 0.2}); }), HasSubstr("must write a checkpoint in time"));
  train(1);
  EXPECT_THAT(names(evaluate()), ElementsAre("ckpt-2.weights.h5", "ckpt-1.weights.h5", "ckpt-1.weights.h5"));
}

// Somebody is killed between an evaluation and its log.
TEST_F(SidecarEvaluatorTest, LogsWhatTheJournalHasAndTheLogLacks) {
  train(2);
  evaluate({.log_dir = logs()});
  fs::remove_all(logs());
  train(3);
  evaluate({.log_dir = logs()});
  EXPECT_THAT(logged("evaluation_loss_vs_iterations"), (std::map<std::int64_t, int>{{2, 2}, {4, 2}, {6, 1}}));
}

TEST_F(SidecarEvaluatorTest, AnEvaluationThatWasCutOffIsDoneAgain) {
  class PowerCut : public Callback {
    void on_test_end(Logs&) override { throw std::runtime_error("the power is cut"); }
  };
  train(1);
  EXPECT_THROW(evaluate({.callbacks = {make<PowerCut>()}}), std::runtime_error);
  EXPECT_THAT(names(evaluate()), ElementsAre("ckpt-1.weights.h5"));
}

TEST_F(SidecarEvaluatorTest, SkipsWhatIsDamagedOrTakenAway) {
  train(1);
  std::ofstream(checkpoint("ckpt-2.weights.h5")) << "no weights";
  std::ofstream(checkpoint("ckpt-3.index")) << "no index";
  std::ofstream(checkpoint("ckpt-4.keras")) << "no archive";
  std::ofstream(checkpoint("ckpt-5.vanishing")) << "there for a moment";
  std::ofstream(checkpoint("ckpt-6.keras.tmp.1.1")) << "half";
  testing::internal::CaptureStderr();
  EXPECT_THAT(names(evaluate()), ElementsAre("ckpt-1.weights.h5"));
  const std::string said = testing::internal::GetCapturedStderr();
  for (const char* name : {"'ckpt-2.weights.h5' cannot", "'ckpt-3' cannot", "'ckpt-4.keras' cannot"})
    EXPECT_THAT(said, HasSubstr(name));
  EXPECT_THAT(said, HasSubstr("'ckpt-5.vanishing' was taken away while it was read"));
  EXPECT_THAT(said, Not(HasSubstr("ckpt-6")));
}

TEST_F(SidecarEvaluatorTest, SaysWhatWentBeforeItsTurn) {
  class Remover : public Callback {
   public:
    explicit Remover(std::string file) : file_(std::move(file)) {}
    void on_test_end(Logs&) override { fs::remove(file_); }

   private:
    std::string file_;
  };
  train(2);
  testing::internal::CaptureStderr();
  EXPECT_THAT(names(evaluate({.callbacks = {make<Remover>(checkpoint("ckpt-1.weights.h5"))}})),
              ElementsAre("ckpt-2.weights.h5"));
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("'ckpt-1.weights.h5' was gone before it was its turn"));
}

TEST_F(SidecarEvaluatorTest, IsAnErrorWhereNothingCouldBeRead) {
  train(1);
  fs::resize_file(checkpoint("ckpt-1.weights.h5"), 100);
  EXPECT_THAT(error_of([&] { evaluate(); }), HasSubstr("at least one checkpoint must be whole"));
}

TEST_F(SidecarEvaluatorTest, IsAnErrorForACheckpointOfAnotherModel) {
  Sequential other({layers::Dense(3)});
  other.compile({.optimizer = optimizers::SGD(0.05), .loss = "mse"});
  other.build({kUnknown, 1});
  Checkpoint saved({.model = &other});
  saved.save(checkpoint("ckpt"));
  EXPECT_THAT(error_of([&] { evaluate(); }), HasSubstr("saved from another model"));
}

TEST_F(SidecarEvaluatorTest, EndsWithTheCheckpointOfTheHighestNumber) {
  train(4);
  fs::remove(checkpoint("training_finished"));
  fs::remove(checkpoint("ckpt-1.weights.h5"));
  EXPECT_EQ(evaluate({.max_evaluations = 4}).size(), 3u);
}

TEST_F(SidecarEvaluatorTest, WaitsNoLongerThanItMay) {
  EXPECT_THAT(error_of([&] { evaluate({.timeout = 0.1}); }),
              AllOf(HasSubstr("SidecarEvaluator: the training must write a checkpoint in time"), HasSubstr(folder()),
                    HasSubstr("timeout=0.1")));
}

TEST_F(SidecarEvaluatorTest, OneAtATimeUntilItIsStopped) {
  OneWeight model;
  SidecarEvaluator evaluator(model, doubled_numbers(), folder(), {.verbose = 0});
  std::thread beside([&] { evaluator.start(); });
  EXPECT_TRUE(becomes_true([&] { return fs::exists(checkpoint("evaluations.json.lock")); }));
  // It is locked a moment after it is made.
  EXPECT_TRUE(becomes_true([&] {
    return error_of([&] { evaluate({.timeout = 0.01}); }).find("one evaluator may work") != std::string::npos;
  }));
  evaluator.stop();
  beside.join();
  EXPECT_THAT(evaluator.evaluations(), IsEmpty());
}

TEST_F(SidecarEvaluatorTest, KeepsTheBestModelAcrossRestarts) {
  train(3, "ckpt-{epoch}.keras");
  const std::string best = folder_.file("best.keras");
  const auto callbacks = [&] {
    return std::vector<Ref<Callback>>{callbacks::SidecarEvaluatorModelExport(best, {.monitor = "val_loss"})};
  };
  evaluate({.max_evaluations = 1, .callbacks = callbacks()});
  const fs::file_time_type written = fs::last_write_time(best);
  EXPECT_EQ(evaluate({.callbacks = callbacks()}).size(), 3u);
  EXPECT_EQ(fs::last_write_time(best), written) << "the last one is the best, and was evaluated first";
  OneWeight exported, last;
  for (OneWeight* each : {&exported, &last}) each->build({kUnknown, 1});
  exported.load_weights(best);
  last.load_weights(checkpoint("ckpt-3.keras"));
  EXPECT_EQ(exported.get_weights()[0].item<float>(), last.get_weights()[0].item<float>());
}

// Saves as the chief does, and lets the evaluator look after every epoch.
TEST_F(SidecarEvaluatorTest, StopsATrainingThatNoLongerImproves) {
  OneWeight model, watched;
  model.optimizer()->set_learning_rate(0.0);
  SidecarEvaluator evaluator(
      watched, doubled_numbers(), folder(),
      {.callbacks = {callbacks::SidecarEvaluatorEarlyStopping({.patience = 2})}, .verbose = 0, .poll_interval = 0.01});
  std::thread beside([&] { evaluator.start(); });
  const History history = model.fit(
      doubled_numbers(),
      {.epochs = 1000,
       .verbose = 0,
       .callbacks = {callbacks::ModelCheckpoint(checkpoint("{epoch}.weights.h5"), {.save_weights_only = true}),
                     callbacks::StopFromEvaluator(folder()),
                     callbacks::LambdaCallback(
                         {.on_epoch_end = [](std::int64_t, Logs&) { std::this_thread::sleep_for(10ms); }})}});
  beside.join();
  EXPECT_LT(history.epoch().size(), 1000u);
  EXPECT_GE(history.epoch().size(), 3u);
  EXPECT_EQ(evaluator.evaluations().size(), history.epoch().size());
  // Another training is another matter.
  EXPECT_EQ(
      model.fit(doubled_numbers(), {.epochs = 2, .verbose = 0, .callbacks = {callbacks::StopFromEvaluator(folder())}})
          .epoch()
          .size(),
      2u);
}

}  // namespace
}  // namespace cohort::distribute
