#include <gtest/gtest.h>

#include "cohort/core/random.h"
#include "cohort/core/thread_pool.h"
#include "cohort/datasets/datasets.h"
#include "cohort/layers/layers.h"
#include "cohort/losses/losses.h"
#include "cohort/model/sequential.h"
#include "cohort/optimizers/optimizers.h"
#include "tests/model/small_models.h"

namespace cohort {
namespace {

// The README's model on made-up images: shuffle, dropout, kernels that spread over threads.
std::vector<float> train(std::uint64_t seed, int threads) {
  ThreadPool& pool = ThreadPool::instance();
  const int before = pool.threads();
  pool.set_threads(threads);
  set_random_seed(seed);
  std::vector<std::uint8_t> pixels(512 * 28 * 28);
  for (std::size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<std::uint8_t>((i * 7919) % 251);
  std::vector<std::uint8_t> labels(512);
  for (std::size_t i = 0; i < labels.size(); ++i) labels[i] = static_cast<std::uint8_t>(i % 10);
  const Dataset data =
      datasets::from_tensor_slices(Tensor::of(pixels, {512, 28, 28}, cpu()), Tensor::of(labels, {512}, cpu()));
  Sequential model({layers::Rescaling(1.0 / 255), layers::Flatten(), layers::Dense(128, {.activation = "relu"}),
                    layers::Dropout(0.2), layers::Dense(10)});
  model.compile({.optimizer = optimizers::Adam(1e-3),
                 .loss = losses::SparseCategoricalCrossentropy({.from_logits = true}),
                 .metrics = {"accuracy"},
                 .steps_per_execution = 3});
  model.fit(data.shuffle(512).batch(64).prefetch(2), {.epochs = 2, .verbose = 0});
  pool.set_threads(before);
  return testing_models::all_weights(model);
}

TEST(Repeatable, ASeedGivesTheSameBitsOnAnyNumberOfThreads) {
  const std::vector<float> one = train(3, 1);
  EXPECT_EQ(train(3, 1), one);
  EXPECT_EQ(train(3, 2), one);
  EXPECT_EQ(train(3, 4), one);
  EXPECT_NE(train(4, 2), one);
}

}  // namespace
}  // namespace cohort
