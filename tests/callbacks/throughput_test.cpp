#include "cohort/callbacks/throughput.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "cohort/callbacks/lambda_callback.h"
#include "cohort/datasets/datasets.h"
#include "cohort/layers/core/dense.h"
#include "cohort/model/sequential.h"
#include "cohort/ops/matmul.h"
#include "cohort/ops/reduce.h"

namespace cohort::callbacks {
namespace {

using namespace std::chrono_literals;

History fit_small(FitOptions options) {
  Sequential model({layers::Dense(1)});
  model.compile({.optimizer = "sgd", .loss = "mse"});
  return model.fit(Tensor::full({70, 2}, 1.0), Tensor::full({70, 1}, 1.0), std::move(options));
}

TEST(Throughput, LogsStepsExamplesAndWaiting) {
  const History history =
      fit_small({.batch_size = 32, .epochs = 2, .verbose = 0, .callbacks = {Throughput({.verbose = 0})}});
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_GT(history["steps_per_second"][i], 0.0);
    // Three batches of 70 samples.
    EXPECT_NEAR(history["examples_per_second"][i] / history["steps_per_second"][i], 70.0 / 3.0, 1e-6);
    EXPECT_GT(history["data_wait"][i], 0.0);
    EXPECT_LE(history["data_wait"][i], 1.0);
  }
}

TEST(Throughput, PrintsOneLineAnEpoch) {
  testing::internal::CaptureStdout();
  fit_small({.epochs = 2, .verbose = 0, .callbacks = {Throughput()}});
  EXPECT_THAT(testing::internal::GetCapturedStdout(),
              testing::MatchesRegex("Epoch 1: [0-9.]+ steps/s, [0-9.]+ examples/s, [0-9.]+ % of the time waiting for "
                                    "data, slowest stage: batch[^\n]+\nEpoch 2: [^\n]+\n"));
}

// A map that computes far more than the rows it reads.
TEST(Throughput, NamesTheStageThatTakesTheMostTime) {
  const Dataset data = datasets::from_tensor_slices(Tensor::full({64, 200, 200}, 0.01))
                           .batch(8)
                           .prefetch(0)
                           .map([](Tensor x) {
                             Tensor y = ops::matmul(x, x);
                             for (int i = 0; i < 4; ++i) y = ops::matmul(y, x);
                             return std::tuple(ops::mean(y, {2}), ops::mean(y, {1, 2}));
                           })
                           .prefetch(1);
  Sequential model({layers::Dense(1)});
  model.compile({.optimizer = "sgd", .loss = "mse"});
  testing::internal::CaptureStdout();
  model.fit(data, {.epochs = 2, .verbose = 0, .callbacks = {Throughput()}});
  EXPECT_THAT(
      testing::internal::GetCapturedStdout(),
      testing::MatchesRegex("Epoch 1: [^\n]+, slowest stage: map[^\n]*\nEpoch 2: [^\n]+, slowest stage: map[^\n]*\n"));
}

TEST(Throughput, LeavesValidationOut) {
  const Ref<Callback> slow_validation =
      LambdaCallback({.on_test_batch_begin = [](std::int64_t) { std::this_thread::sleep_for(300ms); }});
  const History history =
      fit_small({.epochs = 1,
                 .verbose = 0,
                 .validation_data = DataArgument(Tensor::full({4, 2}, 1.0), Tensor::full({4, 1}, 1.0)),
                 .callbacks = {Throughput({.verbose = 0}), slow_validation}});
  EXPECT_GT(history["steps_per_second"][0], 3.0 / 0.3);
}

}  // namespace
}  // namespace cohort::callbacks
