// Gradients that are rows of tables, of replicas in step: optimizers see each row by itself, as on one device.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "cohort/cohort.h"
#include "tests/support/in_step_jobs.h"
#include "tests/support/in_step_strategies.h"

namespace cohort::distribute {
namespace {

using cohort::test::in_step_on;
using cohort::test::InStep;
using cohort::test::values_of;
using cohort::test::waves;
using cohort::test::WeightValues;

struct OptimizerCase {
  const char* name;
  std::function<Ref<Optimizer>()> make;
};

const std::vector<OptimizerCase>& optimizer_cases() {
  static const std::vector<OptimizerCase> all{
      {"SGD", [] { return optimizers::SGD(0.1); }},
      {"Momentum", [] { return optimizers::SGD(0.1, {.momentum = 0.9}); }},
      {"Adam", [] { return optimizers::Adam(0.01); }},
      {"AdamAveraged", [] { return optimizers::Adam(0.01, {.use_ema = true}); }},
      {"AdamOfNorm", [] { return optimizers::Adam(0.01, {.clipnorm = 0.05}); }},
      {"AdamOfValues", [] { return optimizers::Adam(0.01, {.clipvalue = 0.01}); }},
      {"AdamOfGlobalNorm", [] { return optimizers::Adam(0.01, {.global_clipnorm = 0.05}); }},
      {"AdamAccumulated", [] { return optimizers::Adam(0.01, {.gradient_accumulation_steps = 2}); }},
      {"AdamOfScaledLoss", [] { return optimizers::Adam(0.01, {.loss_scale_factor = 8.0}); }},
      {"Adamax", [] { return optimizers::Adamax(0.01); }},
      {"Adagrad", [] { return optimizers::Adagrad(0.1); }},
      {"RMSprop", [] { return optimizers::RMSprop(0.01); }},
      {"Adafactor", [] { return optimizers::Adafactor(0.01); }},
      {"LossScale", [] { return optimizers::LossScaleOptimizer(optimizers::Adam(0.01)); }},
  };
  return all;
}

// Rows: the gradient of the second one crosses as rows, where rows cross.
constexpr std::int64_t kSmallTable = 6, kLargeTable = 10'000;

// A table of which batches have rows many times, and batches that replicas cannot share evenly.
WeightValues train_by_rows(Sequential model, const OptimizerCase& optimizer, const Tensor& y, bool eagerly = false) {
  model.compile({.optimizer = optimizer.make(), .loss = "mse", .run_eagerly = eagerly});
  std::vector<std::int64_t> rows;
  for (std::int64_t i = 0; i < 23 * 5; ++i) rows.push_back(i * i % 5);
  model.fit(datasets::from_tensor_slices(Tensor::of(rows, {23, 5}), y).batch(5), {.epochs = 2, .verbose = 0});
  return values_of(model);
}

WeightValues train_layers(std::int64_t table, const OptimizerCase& optimizer, bool eagerly = false) {
  set_random_seed(7);
  return train_by_rows(Sequential({layers::Embedding(table, 4), layers::Flatten(), layers::Dense(1)}), optimizer,
                       waves({23, 1}, 11), eagerly);
}

WeightValues train_table_alone(const OptimizerCase& optimizer, const Tensor& y) {
  set_random_seed(7);
  return train_by_rows(Sequential({layers::Embedding(kLargeTable, 1), layers::Flatten()}), optimizer, y);
}

void expect_weights(const WeightValues& weights, const WeightValues& expected) {
  ASSERT_EQ(weights.size(), expected.size());
  for (std::size_t i = 0; i < weights.size(); ++i) {
    ASSERT_EQ(weights[i].size(), expected[i].size());
    int others = 0;
    for (std::size_t k = 0; k < weights[i].size(); ++k) {
      if (!(std::fabs(weights[i][k] - expected[i][k]) <= 2e-5f)) ++others;
    }
    EXPECT_EQ(others, 0) << "weight " << i;
  }
}

bool all_finite(const std::vector<float>& values) {
  return std::all_of(values.begin(), values.end(), [](float value) { return std::isfinite(value); });
}

class RowsOfTables : public testing::TestWithParam<std::tuple<InStep, int>> {
 protected:
  static StrategyHandle make() { return in_step_on(std::get<0>(GetParam()), std::get<1>(GetParam())); }
};

TEST_P(RowsOfTables, MoveThemAsOnOneDevice) {
  for (const std::int64_t table : {kSmallTable, kLargeTable}) {
    for (const OptimizerCase& optimizer : optimizer_cases()) {
      SCOPED_TRACE(std::string(optimizer.name) + " of " + std::to_string(table) + " rows");
      const WeightValues alone = train_layers(table, optimizer);
      const StrategyHandle strategy = make();
      auto scope = strategy.scope();
      expect_weights(train_layers(table, optimizer), alone);
      expect_weights(train_layers(table, optimizer, /*eagerly=*/true), alone);
    }
  }
}

// A step whose rows are infinite on one replica alone is taken by none.
TEST_P(RowsOfTables, LeaveAStepThatIsInfiniteOnOneReplica) {
  const OptimizerCase& scaled = optimizer_cases().back();
  std::vector<float> labels = waves({23, 5}, 11).to_vector<float>();
  labels[7] = std::numeric_limits<float>::infinity();
  const Tensor y = Tensor::of(labels, {23, 5});
  const WeightValues alone = train_table_alone(scaled, y);
  EXPECT_TRUE(all_finite(alone[0]));
  const StrategyHandle strategy = make();
  auto scope = strategy.scope();
  expect_weights(train_table_alone(scaled, y), alone);
}

INSTANTIATE_TEST_SUITE_P(OfReplicas, RowsOfTables,
                         testing::Combine(testing::Values(InStep::Mirrored, InStep::CentralStorage),
                                          testing::Values(2, 3)),
                         [](const auto& info) {
                           return cohort::test::name_of(std::get<0>(info.param)) +
                                  std::to_string(std::get<1>(info.param));
                         });

}  // namespace
}  // namespace cohort::distribute
