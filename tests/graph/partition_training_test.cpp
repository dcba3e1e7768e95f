#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "cohort/autodiff/tape.h"
#include "cohort/layers/core/dense.h"
#include "cohort/losses/losses.h"
#include "cohort/metrics/metrics.h"
#include "cohort/model/sequential.h"
#include "cohort/ops/joining.h"
#include "cohort/ops/math.h"
#include "cohort/ops/matmul.h"
#include "cohort/ops/reduce.h"
#include "cohort/optimizers/optimizers.h"
#include "cohort/variables/constraints.h"
#include "tests/graph/simulated_cluster.h"

// Training steps cut for servers do what the whole graph does.
namespace cohort {
namespace {

using testing::expect_equal_runs;
using testing::HomeBook;
using testing::kEverywhere;
using testing::on_server;
using testing::SimulatedCluster;
using ExchangeCounts = std::vector<std::size_t>;

// Trained variables one by one to the servers, slots to their variables, what is shared to every server.
HomeBook training_homes(const Variables& trained, const Optimizer& optimizer, int servers) {
  HomeBook book;
  for (std::size_t i = 0; i < trained.size(); ++i) {
    book.known.emplace_back(trained[i], on_server(static_cast<int>(i) % servers));
  }
  for (const Variable& state : optimizer.variables()) {
    Home home = kEverywhere;
    for (std::size_t i = 0; i < trained.size(); ++i) {
      std::string prefix = trained[i].path() + "_";
      std::replace(prefix.begin(), prefix.end(), '/', '_');
      if (state.name().starts_with(prefix)) home = book.known[i].second;
    }
    book.known.emplace_back(state, home);
  }
  return book;
}

Tensors batch(int step) {
  std::vector<float> x, y;
  const int rows = step == 4 ? 3 : 6;  // a last batch that is smaller
  for (int i = 0; i < rows * 4; ++i) x.push_back(static_cast<float>((i * 7 + step * 3) % 11) / 5.0f - 1.0f);
  for (int i = 0; i < rows * 3; ++i) y.push_back(static_cast<float>((i * 5 + step) % 7) / 3.0f);
  return {Tensor::of(x, {rows, 4}), Tensor::of(y, {rows, 3})};
}

struct TrainedStep {
  TracedGraph traced;
  std::vector<Home> homes;
};

TrainedStep dense_step(const Ref<Optimizer>& optimizer, int servers, layers::DenseOptions options = {}) {
  set_random_seed(3);
  options.activation = "relu";
  Sequential model({layers::Dense(8, options), layers::Dense(3)});
  model.build({kUnknown, 4});
  losses::MeanSquaredError loss_fn;
  metrics::Mean mean;
  const Variables trained = model.trainable_variables();
  optimizer->build(trained);
  const TracedGraph traced =
      trace({{float32, {kUnknown, 4}}, {float32, {kUnknown, 3}}}, [&](const Tensors& in) -> Tensors {
        GradientTape tape;
        Tensor loss = loss_fn(in[1], model(in[0], {.training = true}));
        for (const Tensor& penalty : model.losses()) loss = loss + penalty;
        optimizer->apply(tape.gradient(loss, trained), trained);
        mean.update_state(loss);
        return {loss};
      });
  return {traced, training_homes(trained, *optimizer, servers).of(traced)};
}

struct OptimizerCase {
  std::string name;
  std::function<Ref<Optimizer>()> make;
  layers::DenseOptions dense = {};
};

class PartitionedTraining : public ::testing::TestWithParam<std::tuple<int, int>> {
 public:
  static std::vector<OptimizerCase> cases() {
    using namespace optimizers;
    return {
        {"sgd", [] { return SGD(0.1); }},
        {"momentum", [] { return SGD(0.1, {.momentum = 0.9, .nesterov = true}); }},
        {"scheduled_adam", [] { return Adam(schedules::ExponentialDecay(0.05, 2, 0.5)); }},
        {"weight_decay", [] { return Adam(0.05, {.weight_decay = 0.1}); }},
        {"clipnorm", [] { return SGD(0.1, {.clipnorm = 0.1}); }},
        {"global_clipnorm", [] { return Adam(0.05, {.global_clipnorm = 0.1}); }},
        {"use_ema", [] { return SGD(0.1, {.use_ema = true, .ema_momentum = 0.5, .ema_overwrite_frequency = 2}); }},
        {"constraint", [] { return SGD(0.1); }, {.kernel_constraint = constraints::MaxNorm(0.5)}},
        {"regularizer", [] { return SGD(0.1); }, {.kernel_regularizer = "l2"}},
        {"accumulation", [] { return Adam(0.05, {.gradient_accumulation_steps = 2}); }},
        {"clipped_accumulation", [] { return SGD(0.1, {.clipnorm = 0.1, .gradient_accumulation_steps = 2}); }},
        {"nadam", [] { return Nadam(0.05); }},
        {"lion", [] { return Lion(0.05); }},
    };
  }
};

TEST_P(PartitionedTraining, EqualsTheWholeGraphInOneRound) {
  const OptimizerCase each = cases()[static_cast<std::size_t>(std::get<0>(GetParam()))];
  const int servers = std::get<1>(GetParam());
  const TrainedStep step = dense_step(each.make(), servers, each.dense);
  SimulatedCluster cluster(step.traced, step.homes, servers);
  EXPECT_EQ(cluster.exchanges_per_round(), ExchangeCounts{static_cast<std::size_t>(servers)});
  ASSERT_EQ(cluster.parts().stages.size(), 2u);
  EXPECT_TRUE(cluster.parts().stages[1].graph.nodes.empty()) << cluster.parts().stages[1].graph.to_string();
  // The worker has replicas of the four weights alone: slots, step count and rate are the servers' business.
  EXPECT_EQ(cluster.parts().replicated.size(), 4u);
  for (const ServerExchange& exchange : cluster.parts().rounds[0]) {
    EXPECT_TRUE(exchange.writes);
    EXPECT_TRUE(exchange.returned.empty());
    EXPECT_EQ(exchange.sent.size(), 4u / static_cast<std::size_t>(servers)) << exchange.graph.to_string();
  }
  expect_equal_runs(cluster, step.traced, step.homes, batch, servers);
}

INSTANTIATE_TEST_SUITE_P(Optimizers, PartitionedTraining,
                         ::testing::Combine(::testing::Range(0, static_cast<int>(PartitionedTraining::cases().size())),
                                            ::testing::Values(1, 2)),
                         [](const auto& info) {
                           return PartitionedTraining::cases()[static_cast<std::size_t>(std::get<0>(info.param))].name +
                                  "_on_" + std::to_string(std::get<1>(info.param));
                         });

TEST(Partition, AServerWithoutPartInTheStepGetsNoExchange) {
  const TrainedStep step = dense_step(optimizers::SGD(0.1), 4);
  SimulatedCluster cluster(step.traced, step.homes, 6);
  EXPECT_EQ(cluster.exchanges_per_round(), ExchangeCounts{4});
}

TEST(Partition, ShardsOfOneWeightAreUpdatedWhereTheyAre) {
  Variable top(Tensor::of<float>({1, 2, 3, 4}, {2, 2}), {.name = "w/part_0"});
  Variable bottom(Tensor::of<float>({5, 6}, {1, 2}), {.name = "w/part_1"});
  top.set_path("w/part_0");
  bottom.set_path("w/part_1");
  const Variables shards = {top, bottom};
  auto adam = optimizers::Adam(0.1);
  adam->build(shards);
  const TracedGraph traced = trace({{float32, {kUnknown, 3}}}, [&](const Tensors& in) -> Tensors {
    GradientTape tape;
    const Tensor y = ops::matmul(in[0], ops::concatenate({top, bottom}, 0));
    const Tensor loss = ops::mean(ops::square(y));
    adam->apply(tape.gradient(loss, shards), shards);
    return {loss};
  });
  const auto homes = training_homes(shards, *adam, 2).of(traced);
  SimulatedCluster cluster(traced, homes, 2);
  EXPECT_EQ(cluster.exchanges_per_round(), ExchangeCounts{2});
  EXPECT_EQ(cluster.parts().rounds[0][0].sent.size(), 1u);
  EXPECT_EQ(cluster.parts().rounds[0][1].sent.size(), 1u);
  expect_equal_runs(
      cluster, traced, homes,
      [](int step) {
        return Tensors{Tensor::full({step + 1, 3}, 0.5 * step)};
      },
      2);
}

}  // namespace
}  // namespace cohort
