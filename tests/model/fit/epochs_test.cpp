// Where each epoch's data begins, and which random numbers each fit draws.
#include <gtest/gtest.h>

#include "cohort/core/random.h"
#include "cohort/datasets/datasets.h"
#include "cohort/layers/layers.h"
#include "cohort/model/fit/local_runner.h"
#include "cohort/model/fit/training.h"
#include "cohort/optimizers/optimizers.h"
#include "tests/model/small_models.h"

namespace cohort {
namespace {

using testing_models::all_weights;
using testing_models::line_x;
using testing_models::line_y;
using testing_models::Linear;

// Counts the batches of each epoch.
class CountBatches : public Callback {
 public:
  explicit CountBatches(std::vector<int>& epochs) : epochs_(epochs) {}
  void on_epoch_begin(std::int64_t) override { epochs_.push_back(0); }
  void on_train_batch_end(std::int64_t, Logs&) override { ++epochs_.back(); }

 private:
  std::vector<int>& epochs_;
};

Dataset ten_batches() { return datasets::from_tensor_slices(line_x(), line_y()).batch(1); }

std::vector<int> batches_of_epochs(std::int64_t steps_per_epoch, std::int64_t epochs) {
  std::vector<int> counts;
  Sequential model({make<Linear>()});
  model.compile({.optimizer = "sgd", .loss = "mse"});
  model.fit(
      ten_batches(),
      {.epochs = epochs, .verbose = 0, .steps_per_epoch = steps_per_epoch, .callbacks = {make<CountBatches>(counts)}});
  return counts;
}

TEST(Epochs, BeginAnewOnceTheDataIsUsedUp) {
  EXPECT_EQ(batches_of_epochs(10, 3), (std::vector<int>{10, 10, 10}));
  EXPECT_EQ(batches_of_epochs(5, 5), (std::vector<int>{5, 5, 5, 5, 5}));
  EXPECT_EQ(batches_of_epochs(4, 5), (std::vector<int>{4, 4, 2, 4, 4}));
}

TEST(Epochs, EveryBatchComesInItsTurn) {
  // The inputs of an epoch's batches add up to its loss.
  class InputsAsLoss : public Sequential {
   public:
    InputsAsLoss() : Sequential({make<Linear>()}) {}
    Tensor compute_loss(const Element& x, const Element&, const Element& y_pred, const Element&, bool) override {
      return ops::add(x.leaf(), y_pred.leaf() * 0.0);
    }
  };
  InputsAsLoss model;
  model.compile({.optimizer = optimizers::SGD(0.0)});
  const History history = model.fit(ten_batches(), {.epochs = 4, .verbose = 0, .steps_per_epoch = 5});
  ASSERT_EQ(history["loss"].size(), 4u);
  EXPECT_NEAR(history["loss"][0], 0.2, 1e-6);
  EXPECT_NEAR(history["loss"][1], 0.7, 1e-6);
  EXPECT_NEAR(history["loss"][2], 0.2, 1e-6);
  EXPECT_NEAR(history["loss"][3], 0.7, 1e-6);
}

TEST(Epochs, AnEmptyDatasetIsStillAnError) {
  Sequential model({make<Linear>()});
  model.compile({.optimizer = "sgd", .loss = "mse"});
  EXPECT_THROW(model.fit(ten_batches().take(0), {.verbose = 0, .steps_per_epoch = 2}), Error);
}

TEST(Epochs, ValidationStepsStartOverEachTime) {
  Sequential model({make<Linear>()});
  model.compile({.optimizer = optimizers::SGD(0.0), .loss = "mse"});
  const History history = model.fit(
      line_x(), line_y(), {.epochs = 4, .verbose = 0, .validation_data = ten_batches(), .validation_steps = 3});
  ASSERT_EQ(history["val_loss"].size(), 4u);
  for (double loss : history["val_loss"]) EXPECT_EQ(loss, history["val_loss"][0]);
}

// The weights after each of some fits that all start from the same weights on the same data.
std::vector<std::vector<float>> fits(int how_many) {
  set_random_seed(7);
  Sequential model({layers::Dropout(0.5), make<Linear>(1, "ones")});
  model.compile({.optimizer = optimizers::SGD(0.1), .loss = "mse"});
  const Tensor x = Tensor::full({8, 16}, 1.0), y = Tensor::full({8, 1}, 1.0);
  model(x);
  const std::vector<Tensor> start = model.get_weights();
  std::vector<std::vector<float>> results;
  for (int i = 0; i < how_many; ++i) {
    model.set_weights(start);
    model.fit(x, y, {.batch_size = 8, .verbose = 0, .shuffle = false});
    results.push_back(all_weights(model));
  }
  return results;
}

TEST(Fits, DrawTheirOwnRandomNumbers) {
  const std::vector<std::vector<float>> results = fits(3);
  EXPECT_NE(results[0], results[1]);
  EXPECT_NE(results[1], results[2]);
  EXPECT_NE(results[0], results[2]);
  EXPECT_EQ(fits(3), results);
}

TEST(Fits, AreCountedOnInAnotherProcess) {
  Sequential model({make<Linear>()}), later({make<Linear>()});
  for (Sequential* each : {&model, &later}) each->compile({.optimizer = "sgd", .loss = "mse"});
  LocalRunner third(model.training().program(Program::Kind::Train), {.dataset = ten_batches()}, {.fit = 2});
  third.begin_epoch(0);
  third.run(0, 3);
  const Position where = third.position();
  EXPECT_EQ(where.fit, 2u);
  EXPECT_NE(where.random.seed, global_seed());

  LocalRunner resumed(later.training().program(Program::Kind::Train), {.dataset = ten_batches()},
                      {.fit = later.training().begin_fit()});
  resumed.restore(where);
  EXPECT_EQ(resumed.position().random.seed, where.random.seed);
  EXPECT_EQ(later.training().begin_fit(), 3u);
}

}  // namespace
}  // namespace cohort
