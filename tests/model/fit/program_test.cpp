#include "cohort/model/fit/training.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include "cohort/optimizers/optimizers.h"
#include "tests/model/small_models.h"

namespace cohort {
namespace {

using testing_models::line_x;
using testing_models::line_y;
using testing_models::Linear;

// Takes the programs of a running fit from its model.
class Meddler : public Callback {
 public:
  explicit Meddler(bool compiles) : compiles_(compiles) {}
  void on_train_batch_end(std::int64_t, Logs&) override {
    const std::weak_ptr<Program> running = model().training().program(Program::Kind::Train);
    meddle();
    if (!meddled_) {
      EXPECT_FALSE(running.expired());
      meddled_ = true;
    }
  }
  void on_test_batch_end(std::int64_t, Logs&) override { meddle(); }
  bool meddled_ = false;

 private:
  void meddle() {
    if (compiles_) {
      model().compile({.optimizer = optimizers::SGD(0.1), .loss = "mse"});
    } else {
      model().training().forget_programs();
    }
  }
  bool compiles_;
};

TEST(Program, LivesAsLongAsItsRun) {
  for (bool compiles : {false, true}) {
    Sequential model({make<Linear>()});
    model.compile({.optimizer = optimizers::SGD(0.1), .loss = "mse"});
    auto meddler = make<Meddler>(compiles);
    const History history = model.fit(
        line_x(), line_y(),
        {.batch_size = 4, .epochs = 3, .verbose = 0, .validation_data = {line_x(), line_y()}, .callbacks = {meddler}});
    EXPECT_TRUE(meddler->meddled_);
    EXPECT_EQ(history["val_loss"].size(), 3u);
  }
}

TEST(Program, ForgettingProgramsLeavesTheRunAsItIs) {
  std::vector<std::vector<double>> losses;
  for (bool forgets : {false, true}) {
    Sequential model({make<Linear>()});
    model.compile({.optimizer = optimizers::SGD(0.1), .loss = "mse"});
    FitOptions options{.batch_size = 4, .epochs = 3, .verbose = 0, .shuffle = false};
    if (forgets) options.callbacks.push_back(make<Meddler>(false));
    losses.push_back(model.fit(line_x(), line_y(), options)["loss"]);
  }
  EXPECT_EQ(losses[0], losses[1]);
}

// Takes its time, and notes how many threads call it at once.
class Slow : public Layer {
 public:
  Tensor call(const Tensor& x, const CallContext&) override {
    const int now = ++inside_;
    int most = most_;
    while (most < now && !most_.compare_exchange_weak(most, now)) {
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    --inside_;
    return x;
  }
  int most() const { return most_; }

 private:
  std::atomic<int> inside_ = 0, most_ = 0;
};

TEST(Program, StepsOfAModelAreTracedOneAfterTheOther) {
  auto slow = make<Slow>();
  Sequential model({make<Linear>(), slow});
  model.compile({.optimizer = "sgd", .loss = "mse"});
  model(line_x());
  const ElementSpec spec = spec_of(Element::tuple({Element(line_x()), Element(line_y())}));
  std::vector<std::thread> threads;
  for (const auto& program :
       {model.training().program(Program::Kind::Train), model.training().program(Program::Kind::Test),
        model.training().program(Program::Kind::Predict)}) {
    threads.emplace_back([program, spec] { program->step(spec); });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(slow->most(), 1);
}

}  // namespace
}  // namespace cohort
