#include "tests/support/in_step_jobs.h"

#include <gtest/gtest.h>

#include <cmath>

#include "cohort/cohort.h"

namespace cohort::test {

Tensor waves(const Shape& shape, int step) {
  std::vector<float> values(static_cast<std::size_t>(shape.num_elements()));
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>(std::sin(0.1 * static_cast<double>((i * static_cast<std::size_t>(step)) % 1009)));
  }
  return Tensor::of(values, shape);
}

namespace {

Tensor numbers(const Shape& shape, int below) {
  std::vector<std::int64_t> values(static_cast<std::size_t>(shape.num_elements()));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::int64_t>(i * 7 % below);
  return Tensor::of(values, shape);
}

}  // namespace

std::vector<InStepJob> in_step_jobs() {
  return {
      {"mlp",
       [] {
         return Sequential({layers::Dense(8, {.activation = "tanh", .kernel_regularizer = "l2"}), layers::Dropout(0.3),
                            layers::Dense(2)});
       },
       waves({23, 6}), waves({23, 2}, 11)},
      {"lstm",
       [] {
         return Sequential({layers::LSTM(5), layers::Dense(1)});
       },
       waves({23, 4, 3}), waves({23, 1}, 11)},
      {"convolutions",
       [] {
         return Sequential({layers::Conv2D(4, 3, {.use_bias = false}),
                            layers::BatchNormalization({.synchronized = true}), layers::ReLU(),
                            layers::GlobalAveragePooling2D(), layers::Dense(3)});
       },
       waves({23, 6, 6, 2}), waves({23, 3}, 11)},
      {"embedding",  // of a table whose gradient crosses as rows
       [] {
         return Sequential({layers::Embedding(2500, 4), layers::Flatten(), layers::Dense(1)});
       },
       numbers({23, 3}, 4), waves({23, 1}, 11)},  // a batch has each row of the table several times
  };
}

TrainedInStep train_in_step(const InStepJob& job, const char* optimizer, bool eagerly,
                            std::vector<Ref<Callback>> callbacks) {
  set_random_seed(5);
  Sequential model = job.make();
  model.compile(
      {.optimizer = optimizer, .loss = "mse", .metrics = {"mae"}, .run_eagerly = eagerly, .steps_per_execution = 2});
  const Dataset data = datasets::from_tensor_slices(job.x, job.y).batch(5);
  const History history =
      model.fit(data, {.epochs = 3, .verbose = 0, .validation_data = data, .callbacks = std::move(callbacks)});
  TrainedInStep result{values_of(model), {}};
  for (const char* name : {"loss", "mae", "val_loss", "val_mae"}) result.history[name] = history[name];
  return result;
}

void expect_near(const TrainedInStep& a, const TrainedInStep& b, double tolerance) {
  ASSERT_EQ(a.weights.size(), b.weights.size());
  for (std::size_t i = 0; i < a.weights.size(); ++i) {
    ASSERT_EQ(a.weights[i].size(), b.weights[i].size()) << "weight " << i;
    for (std::size_t k = 0; k < a.weights[i].size(); ++k) {
      EXPECT_NEAR(a.weights[i][k], b.weights[i][k], tolerance) << "weight " << i << ", element " << k;
    }
  }
  for (const auto& [name, values] : a.history) {
    ASSERT_EQ(values.size(), b.history.at(name).size()) << name;
    for (std::size_t i = 0; i < values.size(); ++i) EXPECT_NEAR(values[i], b.history.at(name)[i], tolerance) << name;
  }
}

}  // namespace cohort::test
