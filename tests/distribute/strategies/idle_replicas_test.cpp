// Replicas that have no row of a batch: they take part in the step, and have no say in it.
#include <gtest/gtest.h>

#include "cohort/cohort.h"
#include "tests/support/in_step_jobs.h"
#include "tests/support/in_step_strategies.h"

namespace cohort::distribute {
namespace {

using cohort::test::cpus;
using cohort::test::in_step_on;
using cohort::test::InStep;
using cohort::test::values_of;
using cohort::test::waves;

// The last batch has one row.
std::vector<std::vector<float>> trained_by_sums(bool eagerly) {
  set_random_seed(3);
  Sequential model({layers::Dense(4, {.activation = "tanh"}), layers::Dense(1)});
  model.compile({.optimizer = optimizers::SGD(0.01),
                 .loss = losses::MeanSquaredError({.reduction = "sum"}),
                 .run_eagerly = eagerly});
  model.fit(waves({9, 3}), waves({9, 1}, 7), {.batch_size = 4, .epochs = 2, .verbose = 0, .shuffle = false});
  return values_of(model);
}

void expect_near(const std::vector<std::vector<float>>& got, const std::vector<std::vector<float>>& expected) {
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    for (std::size_t k = 0; k < got[i].size(); ++k) EXPECT_NEAR(got[i][k], expected[i][k], 1e-5) << i << ", " << k;
  }
}

TEST(IdleReplicas, AddNothingToSumsOfLosses) {
  const auto alone = trained_by_sums(false);
  for (const InStep kind : {InStep::Mirrored, InStep::CentralStorage}) {
    for (const bool eagerly : {false, true}) {
      SCOPED_TRACE(cohort::test::name_of(kind) + (eagerly ? ", line by line" : ""));
      const StrategyHandle strategy = in_step_on(kind, 3);
      auto scope = strategy.scope();
      expect_near(trained_by_sums(eagerly), alone);
    }
  }
}

TEST(IdleReplicas, AddNothingHoweverReplicasReduce) {
  const auto alone = trained_by_sums(false);
  for (const CrossDeviceOps& ops :
       {CrossDeviceOps(HierarchicalCopyAllReduce()), CrossDeviceOps(ReductionToOneDevice("CPU:1"))}) {
    const MirroredStrategy strategy(cpus(3), {.cross_device_ops = ops});
    auto scope = strategy.scope();
    expect_near(trained_by_sums(false), alone);
  }
}

// A strategy that many models are made under holds what lives.
TEST(ReplicaVariables, LiveNoLongerThanTheirModel) {
  for (const InStep kind : {InStep::Mirrored, InStep::CentralStorage}) {
    const StrategyHandle strategy = in_step_on(kind, 2);
    auto scope = strategy.scope();
    std::vector<std::weak_ptr<VariableBody>> gone;
    {
      Sequential model({layers::Dense(4), layers::BatchNormalization(), layers::Dense(1)});
      model.compile({.optimizer = "adam", .loss = "mse"});
      model.fit(waves({8, 3}), waves({8, 1}, 7), {.batch_size = 4, .verbose = 0});
      for (const Variable& variable : model.weights()) gone.push_back(variable.body());
      for (const Variable& variable : model.optimizer()->variables()) gone.push_back(variable.body());
    }
    EXPECT_GT(gone.size(), 10u);
    for (const auto& variable : gone) EXPECT_TRUE(variable.expired()) << cohort::test::name_of(kind);
  }
}

}  // namespace
}  // namespace cohort::distribute
