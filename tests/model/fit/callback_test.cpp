#include <gtest/gtest.h>

#include "cohort/optimizers/optimizers.h"
#include "tests/model/small_models.h"

namespace cohort {
namespace {

using testing_models::line_x;
using testing_models::line_y;
using testing_models::Linear;

// Writes down every hook with its number and the names in its logs.
class Recorder : public Callback {
 public:
  explicit Recorder(std::vector<std::string>& lines, BatchHooks hooks = BatchHooks::Every)
      : lines_(lines), hooks_(hooks) {}
  void on_train_begin() override { lines_.push_back("train_begin"); }
  void on_train_end(Logs& logs) override { note("train_end", logs); }
  void on_epoch_begin(std::int64_t epoch) override { lines_.push_back("epoch_begin " + std::to_string(epoch)); }
  void on_epoch_end(std::int64_t epoch, Logs& logs) override { note("epoch_end " + std::to_string(epoch), logs); }
  void on_train_batch_begin(std::int64_t batch) override {
    lines_.push_back("train_batch_begin " + std::to_string(batch));
  }
  void on_train_batch_end(std::int64_t batch, Logs& logs) override {
    note("train_batch_end " + std::to_string(batch), logs);
  }
  void on_test_begin() override { lines_.push_back("test_begin"); }
  void on_test_end(Logs& logs) override { note("test_end", logs); }
  void on_test_batch_begin(std::int64_t batch) override {
    lines_.push_back("test_batch_begin " + std::to_string(batch));
  }
  void on_test_batch_end(std::int64_t batch, Logs& logs) override {
    note("test_batch_end " + std::to_string(batch), logs);
  }
  void on_predict_begin() override { lines_.push_back("predict_begin"); }
  void on_predict_end(Logs&) override { lines_.push_back("predict_end"); }
  void on_predict_batch_begin(std::int64_t batch) override {
    lines_.push_back("predict_batch_begin " + std::to_string(batch));
  }
  void on_predict_batch_end(std::int64_t batch, Logs&) override {
    lines_.push_back("predict_batch_end " + std::to_string(batch));
  }
  BatchHooks batch_hooks() const override { return hooks_; }

 private:
  void note(const std::string& hook, const Logs& logs) {
    std::string line = hook + ":";
    for (const auto& [name, value] : logs) line += " " + name;
    lines_.push_back(line);
  }
  std::vector<std::string>& lines_;
  BatchHooks hooks_;
};

struct MeasuredLine {
  MeasuredLine() : model({make<Linear>()}) {
    model.compile({.optimizer = optimizers::SGD(0.1), .loss = "mse", .metrics = {"mae"}});
  }
  Sequential model;
};

// The order and the names are those of keras.callbacks in Keras 3.15.
TEST(Callbacks, ComeInKerasOrder) {
  std::vector<std::string> lines;
  MeasuredLine line;
  line.model.fit(
      line_x(), line_y(),
      {.batch_size = 4, .epochs = 1, .verbose = 0, .validation_split = 0.3, .callbacks = {make<Recorder>(lines)}});
  const std::vector<std::string> expected = {"train_begin",
                                             "epoch_begin 0",
                                             "train_batch_begin 0",
                                             "train_batch_end 0: loss mae",
                                             "train_batch_begin 1",
                                             "train_batch_end 1: loss mae",
                                             "test_begin",
                                             "test_batch_begin 0",
                                             "test_batch_end 0: loss mae",
                                             "test_end: loss mae",
                                             "epoch_end 0: loss mae val_loss val_mae",
                                             "train_end: loss mae val_loss val_mae"};
  EXPECT_EQ(lines, expected);

  lines.clear();
  line.model.evaluate(line_x(), line_y(), {.batch_size = 5, .verbose = 0, .callbacks = {make<Recorder>(lines)}});
  EXPECT_EQ(lines,
            (std::vector<std::string>{"test_begin", "test_batch_begin 0", "test_batch_end 0: loss mae",
                                      "test_batch_begin 1", "test_batch_end 1: loss mae", "test_end: loss mae"}));
  lines.clear();
  line.model.predict(line_x(), {.batch_size = 5, .verbose = 0, .callbacks = {make<Recorder>(lines)}});
  EXPECT_EQ(lines, (std::vector<std::string>{"predict_begin", "predict_batch_begin 0", "predict_batch_end 0",
                                             "predict_batch_begin 1", "predict_batch_end 1", "predict_end"}));
}

TEST(Callbacks, BatchHooksComeOncePerExecution) {
  std::vector<std::string> lines;
  Sequential model({make<Linear>()});
  model.compile({.optimizer = "sgd", .loss = "mse", .steps_per_execution = 3});
  model.fit(line_x(), line_y(), {.batch_size = 2, .epochs = 1, .verbose = 0, .callbacks = {make<Recorder>(lines)}});
  EXPECT_EQ(lines, (std::vector<std::string>{"train_begin", "epoch_begin 0", "train_batch_begin 0",
                                             "train_batch_end 2: loss", "train_batch_begin 3",
                                             "train_batch_end 4: loss", "epoch_end 0: loss", "train_end: loss"}));
}

TEST(Callbacks, MayDoWithoutBatchHooks) {
  std::vector<std::string> lines;
  MeasuredLine line;
  line.model.fit(line_x(), line_y(), {.verbose = 0, .callbacks = {make<Recorder>(lines, BatchHooks::None)}});
  EXPECT_EQ(lines,
            (std::vector<std::string>{"train_begin", "epoch_begin 0", "epoch_end 0: loss mae", "train_end: loss mae"}));
}

class StopAfter : public Callback {
 public:
  explicit StopAfter(std::int64_t batch) : batch_(batch) {}
  void on_train_batch_end(std::int64_t batch, Logs&) override {
    if (batch == batch_) model().stop_training = true;
  }

 private:
  std::int64_t batch_;
};

TEST(Callbacks, StopTraining) {
  MeasuredLine line;
  const History history = line.model.fit(
      line_x(), line_y(), {.batch_size = 2, .epochs = 9, .verbose = 0, .callbacks = {make<StopAfter>(1)}});
  EXPECT_EQ(history.epoch().size(), 1u);
  EXPECT_EQ(line.model.optimizer()->iterations().value().item<int>(), 2);
  EXPECT_TRUE(line.model.stop_training);
}

// Halves the rate after every batch.
class Halve : public Callback {
 public:
  void on_train_batch_end(std::int64_t, Logs&) override {
    model().optimizer()->set_learning_rate(model().optimizer()->learning_rate() / 2);
  }
};

TEST(Callbacks, AChangedRateReachesTheNextBatch) {
  MeasuredLine line;
  line.model.fit(line_x(), line_y(), {.batch_size = 5, .verbose = 0, .shuffle = false, .callbacks = {make<Halve>()}});
  testing_models::LineByHand hand;
  const std::vector<float> x = line_x().to_vector<float>(), y = line_y().to_vector<float>();
  hand.step(x, y, 0, 5, 0.1f);
  hand.step(x, y, 5, 10, 0.05f);
  EXPECT_NEAR(testing_models::all_weights(line.model)[0], hand.w, 1e-6);
  EXPECT_NEAR(line.model.optimizer()->learning_rate(), 0.025, 1e-8);
}

class AddToLogs : public Callback {
 public:
  void on_epoch_end(std::int64_t, Logs& logs) override { logs.set("mine", 7.0); }
};

TEST(Callbacks, AddToTheHistory) {
  MeasuredLine line;
  const History history =
      line.model.fit(line_x(), line_y(), {.epochs = 2, .verbose = 0, .callbacks = {make<AddToLogs>()}});
  EXPECT_EQ(history["mine"], (std::vector<double>{7.0, 7.0}));
}

}  // namespace
}  // namespace cohort
