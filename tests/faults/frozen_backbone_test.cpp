// What a worker of another process sends and gets when most of a model is frozen.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>

#include "cohort/cohort.h"
#include "tests/support/deadline.h"
#include "tests/support/process_cluster.h"

namespace cohort::test {
namespace {

using namespace std::chrono_literals;

// 4 MB in the suite, COHORT_TEST_BACKBONE_MB where somebody wants to be sure.
std::int64_t backbone_units() {
  const char* megabytes = std::getenv("COHORT_TEST_BACKBONE_MB");
  return static_cast<std::int64_t>(std::sqrt((megabytes ? std::atof(megabytes) : 4.0) * 1e6 / sizeof(float)));
}

TEST(FrozenBackbone, CostsNoMoreThanTheHead) {
  const Deadline deadline(120s);
  constexpr std::int64_t kSteps = 40;
  const std::int64_t units = backbone_units();
  ProcessCluster cluster(1, 1, /*payload=*/1 << 30);
  const distribute::ParameterServerStrategy strategy{distribute::SimpleClusterResolver(cluster.spec())};
  auto scope = strategy.scope();
  Sequential model({layers::Dense(units, {.activation = "relu"}), layers::Dense(10)});
  model.get_layer(std::int64_t{0})->set_trainable(false);
  model.compile({.optimizer = "sgd", .loss = "mse", .steps_per_execution = 5});
  const Dataset data =
      datasets::from_tensor_slices(Tensor::full({8, units}, 0.01), Tensor::full({8, 10}, 0.25)).batch(4).repeat();
  const auto passed = [&] {
    const auto still = cluster.proxy(0).freeze();
    return cluster.proxy(0).traffic_of(cluster.worker(0).id()).bytes;
  };
  std::vector<std::uint64_t> bytes;
  model.fit(data, {.epochs = 3,
                   .verbose = 0,
                   .steps_per_epoch = kSteps,
                   .callbacks = {callbacks::LambdaCallback(
                       {.on_epoch_end = [&](std::int64_t, Logs&) { bytes.push_back(passed()); }})}});
  ASSERT_EQ(bytes.size(), 3u);
  const auto backbone = static_cast<double>(units * (units + 1) * static_cast<std::int64_t>(sizeof(float)));
  const auto head = static_cast<double>(2 * (10 * units + 10) * static_cast<std::int64_t>(sizeof(float)));
  EXPECT_GE(static_cast<double>(bytes[0]), backbone);  // once
  for (std::size_t epoch = 1; epoch < bytes.size(); ++epoch) {
    const auto per_step = static_cast<double>(bytes[epoch] - bytes[epoch - 1]) / kSteps;
    EXPECT_GE(per_step, 0.9 * head) << epoch;
    EXPECT_LE(per_step, 1.1 * head) << epoch;
  }
}

}  // namespace
}  // namespace cohort::test
