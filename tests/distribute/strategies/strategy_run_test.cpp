// A user's own loop under a strategy whose replicas train in step: strategy.run and what goes with it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cohort/cohort.h"
#include "tests/support/error_of.h"
#include "tests/support/in_step_jobs.h"
#include "tests/support/in_step_strategies.h"

namespace cohort::distribute {
namespace {

using cohort::test::error_of;
using cohort::test::InStep;
using cohort::test::values_of;
using cohort::test::waves;
using testing::ElementsAre;
using testing::HasSubstr;

const std::vector<std::string> kThree = {"CPU:0", "CPU:1", "CPU:2"};

// Trains by a step of its own; `traced`: as a Function. Gives the weights, the mean of the losses and the accuracy.
struct LoopResult {
  std::vector<std::vector<float>> weights;
  double loss = 0.0, error = 0.0;
};

template <class Run>
LoopResult own_loop(bool traced, const Run& run_epoch) {
  set_random_seed(9);
  Sequential model({layers::Dense(4, {.activation = "tanh"}), layers::Dense(1)});
  model.build({kUnknown, 3});
  const optimizers::Adam optimizer(1e-2);
  const losses::MeanSquaredError loss_fn;
  const metrics::MeanAbsoluteError error;
  const auto step = [&](const Tensor& x, const Tensor& y) {
    GradientTape tape;
    const Tensor predictions = model(x, {.training = true});
    const Tensor loss = loss_fn(y, predictions);
    optimizer.apply(tape.gradient(loss, model.trainable_variables()), model.trainable_variables());
    error.update_state(y, predictions);
    return loss;
  };
  // The last batch has two samples: one replica of three gets none.
  const Dataset data = datasets::from_tensor_slices(waves({14, 3}), waves({14, 1}, 11)).batch(6);
  LoopResult result;
  for (int epoch = 0; epoch < 2; ++epoch) {
    result.loss = traced ? run_epoch(data, function(step)) : run_epoch(data, step);
  }
  result.weights = values_of(model);
  result.error = error.result().item<double>();
  return result;
}

class StrategyRun : public testing::TestWithParam<std::tuple<InStep, bool>> {};

// Reductions run where the replica computes: one among the work of another device would wait for replicas whose turn it
// holds up.
TEST_P(StrategyRun, ReducesWhatLiesOnAnotherDevice) {
  const auto [kind, traced] = GetParam();
  Device& elsewhere = device_named("TEST:0");
  Tensors numbers;
  for (const double number : {1.0, 2.0, 6.0}) numbers.push_back(Tensor::scalar(number).to(elsewhere));
  const StrategyHandle strategy = cohort::test::in_step_on(kind, 3);
  auto scope = strategy.scope();
  Variable sum(Tensor::scalar(0.0), {.name = "sum", .aggregation = Aggregation::Sum});
  const auto step = [&](const Tensor& x) {
    sum.assign_add(x);
    return get_replica_context()->all_reduce(ReduceOp::Sum, x * 2.0);
  };
  const PerReplica results =
      traced ? strategy.run(function(step), PerReplica::of(numbers)) : strategy.run(step, PerReplica::of(numbers));
  EXPECT_EQ(sum.value().item<float>(), 9.0f);
  for (const Tensor& each : strategy.experimental_local_results(results)) EXPECT_EQ(each.item<float>(), 18.0f);
}

TEST_P(StrategyRun, TrainsAsOneDeviceOnTheWholeBatch) {
  const auto [kind, traced] = GetParam();
  const LoopResult alone = own_loop(traced, [](const Dataset& data, const auto& step) {
    double loss = 0.0;
    for (const Element& batch : data) loss += Tensor(step(batch[0].leaf(), batch[1].leaf())).item<double>();
    return loss;
  });
  const StrategyHandle strategy = cohort::test::in_step_on(kind, 3);
  auto scope = strategy.scope();
  const LoopResult mirrored = own_loop(traced, [&](const Dataset& data, const auto& step) {
    double loss = 0.0;
    for (const PerReplica& batch : strategy.experimental_distribute_dataset(data)) {
      const Tensor total = strategy.reduce(ReduceOp::Sum, strategy.run(step, batch[0], batch[1]));
      loss += total.item<double>();
    }
    return loss;
  });
  ASSERT_EQ(mirrored.weights.size(), alone.weights.size());
  for (std::size_t i = 0; i < alone.weights.size(); ++i) {
    EXPECT_THAT(mirrored.weights[i], testing::Pointwise(testing::FloatNear(1e-5f), alone.weights[i]));
  }
  EXPECT_NEAR(mirrored.loss, alone.loss, 1e-5);
  EXPECT_NEAR(mirrored.error, alone.error, 1e-5);
}

INSTANTIATE_TEST_SUITE_P(LineByLineAndTraced, StrategyRun,
                         testing::Combine(testing::Values(InStep::Mirrored, InStep::CentralStorage), testing::Bool()));

TEST(StrategyRunOf, ReplicasKnowWhoTheyAre) {
  const MirroredStrategy strategy(kThree);
  const PerReplica numbers = strategy.run([] {
    const ReplicaContext* replica = get_replica_context();
    EXPECT_EQ(replica->num_replicas_in_sync(), 3);
    return Tensor::scalar(replica->replica_id_in_sync_group());
  });
  std::vector<float> seen;
  for (const Tensor& number : strategy.experimental_local_results(numbers)) seen.push_back(number.item<float>());
  EXPECT_THAT(seen, ElementsAre(0.0f, 1.0f, 2.0f));
  EXPECT_EQ(get_replica_context(), nullptr);
}

TEST(StrategyRunOf, ReplicasReduceAmongThemselves) {
  const MirroredStrategy strategy(kThree);
  const PerReplica values(std::vector<Element>{Tensor::scalar(1.0), Tensor::scalar(2.0), Tensor::scalar(6.0)});
  const auto sum_and_mean = [](const Tensor& x) {
    const ReplicaContext* replica = get_replica_context();
    return replica->all_reduce(ReduceOp::Sum, x) * 100.0 + replica->all_reduce(ReduceOp::Mean, x);
  };
  for (const Tensor& result : strategy.experimental_local_results(strategy.run(sum_and_mean, values))) {
    EXPECT_FLOAT_EQ(result.item<float>(), 903.0f);
  }
}

TEST(StrategyRunOf, ValuesOfReplicasBecomeOne) {
  const MirroredStrategy strategy({"CPU:0", "CPU:1"});
  const PerReplica values(std::vector<Element>{Tensor::of({1.0f, 2.0f, 3.0f}, {3}), Tensor::of({5.0f}, {1})});
  EXPECT_THAT(strategy.gather(values).to_vector<float>(), ElementsAre(1.0f, 2.0f, 3.0f, 5.0f));
  EXPECT_FLOAT_EQ(strategy.reduce(ReduceOp::Sum, values, 0).item<float>(), 11.0f);
  EXPECT_FLOAT_EQ(strategy.reduce(ReduceOp::Mean, values, 0).item<float>(), 2.75f);
}

class StrategyRunOfTwo : public testing::TestWithParam<InStep> {};

TEST_P(StrategyRunOfTwo, WritesVariablesWithWhatReplicasAgreeOn) {
  const StrategyHandle strategy = cohort::test::in_step_on(GetParam(), 2);
  auto scope = strategy.scope();
  const auto made = [](Aggregation aggregation, Synchronization when = Synchronization::OnWrite) {
    return Variable(Tensor::scalar(0.0), {.name = "count", .aggregation = aggregation, .synchronization = when});
  };
  Variable sum = made(Aggregation::Sum), mean = made(Aggregation::Mean), first = made(Aggregation::OnlyFirstReplica);
  Variable none = made(Aggregation::None), apart = made(Aggregation::Sum, Synchronization::OnRead);
  const PerReplica values(std::vector<Element>{Tensor::scalar(1.0), Tensor::scalar(3.0)});
  for (int turn = 0; turn < 2; ++turn) {
    strategy.run(
        [&](const Tensor& x) {
          for (Variable* variable : {&sum, &mean, &first, &apart}) variable->assign_add(x);
        },
        values);
  }
  EXPECT_FLOAT_EQ(sum.value().item<float>(), 8.0f);
  EXPECT_FLOAT_EQ(mean.value().item<float>(), 4.0f);
  EXPECT_FLOAT_EQ(first.value().item<float>(), 2.0f);
  EXPECT_FLOAT_EQ(apart.value().item<float>(), 8.0f);
  EXPECT_THAT(error_of([&] { strategy.run([&](const Tensor& x) { none.assign(x); }, values); }),
              HasSubstr("must say how their values become one"));
  sum.assign(Tensor::scalar(50.0));
  strategy.run([&](const Tensor& x) { sum.assign_add(x); }, values);
  EXPECT_FLOAT_EQ(sum.value().item<float>(), 54.0f);
}

INSTANTIATE_TEST_SUITE_P(Strategies, StrategyRunOfTwo, testing::Values(InStep::Mirrored, InStep::CentralStorage),
                         [](const auto& info) { return cohort::test::name_of(info.param); });

TEST(StrategyRunOf, EachReplicaTakesTheNextBatchOfAFunction) {
  const MirroredStrategy strategy({"CPU:0", "CPU:1"});
  const auto make = [](const InputContext& context) {
    return datasets::range(10).batch(context.get_per_replica_batch_size(4));
  };
  std::vector<std::vector<std::int64_t>> rows;
  for (const PerReplica& batch : strategy.distribute_datasets_from_function(make)) rows.push_back(batch.rows());
  EXPECT_THAT(rows, ElementsAre(ElementsAre(2, 2), ElementsAre(2, 2), ElementsAre(2, 0)));
}

TEST(StrategyRunOf, OneDeviceRunsOnceOnIt) {
  const OneDeviceStrategy strategy("CPU:1");
  auto scope = strategy.scope();
  const Variable variable(Tensor::scalar(1.0));
  EXPECT_EQ(variable.value().device().name(), "CPU:1");
  EXPECT_EQ(strategy.num_replicas_in_sync(), 1);
  EXPECT_FLOAT_EQ(
      Tensor(strategy.run([](const Tensor& x) { return x * 2.0; }, Tensor::scalar(4.0)).value(0)).item<float>(), 8.0f);
}

}  // namespace
}  // namespace cohort::distribute
