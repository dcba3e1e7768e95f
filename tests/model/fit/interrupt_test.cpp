#include "cohort/model/fit/interrupt.h"

#include <gtest/gtest.h>

#include <csignal>
#include <thread>

#include "cohort/optimizers/optimizers.h"
#include "tests/model/small_models.h"

namespace cohort {
namespace {

using testing_models::line_x;
using testing_models::line_y;
using testing_models::Linear;

int handled = 0;
void count(int) { ++handled; }

class PressCtrlC : public Callback {
 public:
  explicit PressCtrlC(std::vector<std::string>& lines) : lines_(lines) {}
  void on_train_batch_end(std::int64_t batch, Logs&) override {
    lines_.push_back("batch " + std::to_string(batch));
    if (batch == 1) std::raise(SIGINT);
  }
  void on_train_end(Logs&) override { lines_.push_back("end"); }

 private:
  std::vector<std::string>& lines_;
};

TEST(Interrupt, EndsFitCleanly) {
  const auto before = std::signal(SIGINT, count);
  handled = 0;
  std::vector<std::string> lines;
  Sequential model({make<Linear>()});
  model.compile({.optimizer = "sgd", .loss = "mse"});
  try {
    model.fit(line_x(), line_y(), {.batch_size = 2, .epochs = 5, .verbose = 0, .callbacks = {make<PressCtrlC>(lines)}});
    ADD_FAILURE() << "fit went on";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::Cancelled);
  }
  EXPECT_EQ(lines, (std::vector<std::string>{"batch 0", "batch 1", "end"}));
  EXPECT_EQ(handled, 0);
  std::raise(SIGINT);  // the former handler is back
  EXPECT_EQ(handled, 1);
  std::signal(SIGINT, before);
  EXPECT_NO_THROW(model.fit(line_x(), line_y(), {.verbose = 0}));
}

// Presses Ctrl-C at one batch of training or of validation, and writes down what comes.
class PressAt : public Callback {
 public:
  PressAt(std::string where, std::vector<std::string>& lines) : where_(std::move(where)), lines_(lines) {}
  void on_train_batch_end(std::int64_t batch, Logs&) override { note("train " + std::to_string(batch)); }
  void on_test_batch_end(std::int64_t batch, Logs&) override { note("test " + std::to_string(batch)); }
  void on_test_end(Logs&) override { note("test end"); }
  void on_epoch_end(std::int64_t, Logs&) override { note("epoch end"); }
  void on_train_end(Logs&) override { note("train end"); }

 private:
  void note(const std::string& line) {
    lines_.push_back(line);
    if (line == where_) std::raise(SIGINT);
  }
  std::string where_;
  std::vector<std::string>& lines_;
};

std::vector<std::string> lines_when_pressed_at(const std::string& where) {
  std::vector<std::string> lines;
  Sequential model({make<Linear>()});
  model.compile({.optimizer = "sgd", .loss = "mse"});
  try {
    model.fit(line_x(), line_y(),
              {.batch_size = 5,
               .epochs = 3,
               .verbose = 0,
               .validation_data = {line_x(), line_y()},
               .validation_batch_size = 4,
               .callbacks = {make<PressAt>(where, lines)}});
    ADD_FAILURE() << "fit went on";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::Cancelled);
  }
  return lines;
}

TEST(Interrupt, EndsValidationInsideFit) {
  EXPECT_EQ(lines_when_pressed_at("test 1"),
            (std::vector<std::string>{"train 0", "train 1", "test 0", "test 1", "train end"}));
}

TEST(Interrupt, IsSeenAtTheLastBatch) {
  EXPECT_EQ(lines_when_pressed_at("train 1"), (std::vector<std::string>{"train 0", "train 1", "train end"}));
  EXPECT_EQ(lines_when_pressed_at("test 2"),
            (std::vector<std::string>{"train 0", "train 1", "test 0", "test 1", "test 2", "train end"}));
}

TEST(Interrupt, KnowsTheTwoSignalsApart) {
  for (const int number : {SIGINT, SIGTERM}) {
    InterruptScope scope;
    EXPECT_FALSE(scope.interrupted());
    std::raise(number);
    EXPECT_TRUE(scope.interrupted());
    EXPECT_EQ(scope.terminated(), number == SIGTERM);
  }
}

TEST(Interrupt, PressedTwiceIsHandedOn) {
  const auto before = std::signal(SIGINT, count);
  handled = 0;
  {
    InterruptScope scope;
    std::raise(SIGINT);
    EXPECT_TRUE(scope.interrupted());
    EXPECT_EQ(handled, 0);
    std::raise(SIGINT);
    EXPECT_EQ(handled, 1);
  }
  std::signal(SIGINT, before);
}

TEST(Threads, PredictAtOnce) {
  Sequential model({make<Linear>(8, "ones"), make<Linear>(1, "ones")});
  constexpr int kThreads = 4;
  std::vector<std::vector<float>> results(kThreads);
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      const Tensor x = Tensor::full({20, 3}, static_cast<double>(i + 1));
      for (int again = 0; again < 5; ++again) {
        results[static_cast<std::size_t>(i)] = model.predict(x, {.batch_size = 7, .verbose = 0}).to_vector<float>();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (int i = 0; i < kThreads; ++i) {
    EXPECT_EQ(results[static_cast<std::size_t>(i)], std::vector<float>(20, 24.0f * static_cast<float>(i + 1)));
  }
}

}  // namespace
}  // namespace cohort
