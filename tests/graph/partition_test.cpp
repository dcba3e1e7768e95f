#include "cohort/graph/partition.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "cohort/autodiff/control_flow.h"
#include "cohort/autodiff/tape.h"
#include "cohort/layers/core/dense.h"
#include "cohort/losses/losses.h"
#include "cohort/metrics/metrics.h"
#include "cohort/model/sequential.h"
#include "cohort/ops/debug.h"
#include "cohort/ops/joining.h"
#include "cohort/ops/math.h"
#include "cohort/ops/matmul.h"
#include "cohort/ops/random_ops.h"
#include "cohort/ops/reduce.h"
#include "cohort/optimizers/optimizers.h"
#include "cohort/variables/constraints.h"
#include "tests/graph/simulated_cluster.h"

namespace cohort {
namespace {

using Counts = std::vector<std::size_t>;
using testing::SimulatedCluster;
using testing::WholeRun;

const Home kOnWorker{};
const Home kEverywhere{Home::Kind::EveryServer};
Home on_server(int server) { return {Home::Kind::Server, server}; }

Tensor vector(std::initializer_list<float> values) {
  return Tensor::of<float>(values, {static_cast<std::int64_t>(values.size())});
}

// Homes of a trace's inputs, by variable; what is not named is the worker's.
struct HomeBook {
  std::vector<std::pair<Variable, Home>> known = {};

  std::vector<Home> of(const TracedGraph& traced) const {
    std::vector<Home> homes(static_cast<std::size_t>(traced.num_arguments));
    for (const Tensor& capture : traced.captures) {
      auto found = std::find_if(known.begin(), known.end(),
                                [&](const auto& each) { return each.first.handle().key() == capture.key(); });
      homes.push_back(found == known.end() ? kOnWorker : found->second);
    }
    return homes;
  }
};

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

void expect_same_bits(const Tensor& a, const Tensor& b, const std::string& what) {
  ASSERT_EQ(a.spec(), b.spec()) << what;
  const Tensor left = a.to_host(), right = b.to_host();
  EXPECT_EQ(std::string_view(static_cast<const char*>(left.raw()), left.bytes()),
            std::string_view(static_cast<const char*>(right.raw()), right.bytes()))
      << what << ": " << left.to_string() << " and " << right.to_string();
}

// Five steps on the cluster and of the whole graph; outputs and all variables must agree to the bit.
void expect_equal_runs(SimulatedCluster& cluster, const TracedGraph& traced, const std::vector<Home>& homes,
                       const std::function<Tensors(int)>& arguments, int servers) {
  WholeRun whole(traced);
  for (int step = 0; step < 5; ++step) {
    const RandomState random{.seed = 7, .step = static_cast<std::uint64_t>(step)};
    const Tensors expected = whole.step(arguments(step), random), got = cluster.step(arguments(step), random);
    ASSERT_EQ(expected.size(), got.size());
    for (std::size_t i = 0; i < got.size(); ++i) expect_same_bits(got[i], expected[i], "output " + std::to_string(i));
  }
  for (std::size_t i = static_cast<std::size_t>(traced.num_arguments); i < homes.size(); ++i) {
    const int input = static_cast<int>(i);
    const int copies = homes[i].kind == Home::Kind::EveryServer ? servers : 1;
    for (int server = 0; server < copies; ++server) {
      expect_same_bits(cluster.value(input, server), whole.value(input),
                       traced.captures[i - static_cast<std::size_t>(traced.num_arguments)].resource()->name());
    }
  }
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

std::string text_of(const Graph& graph) { return graph.to_string(); }

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
  EXPECT_EQ(cluster.exchanges_per_round(), Counts{static_cast<std::size_t>(servers)});
  ASSERT_EQ(cluster.parts().stages.size(), 2u);
  EXPECT_TRUE(cluster.parts().stages[1].graph.nodes.empty()) << text_of(cluster.parts().stages[1].graph);
  // The worker has replicas of the four weights alone: slots, step count and rate are the servers' business.
  EXPECT_EQ(cluster.parts().replicated.size(), 4u);
  for (const ServerExchange& exchange : cluster.parts().rounds[0]) {
    EXPECT_TRUE(exchange.writes);
    EXPECT_TRUE(exchange.returned.empty());
    EXPECT_EQ(exchange.sent.size(), 4u / static_cast<std::size_t>(servers)) << text_of(exchange.graph);
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
  EXPECT_EQ(cluster.exchanges_per_round(), Counts{4});
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
  EXPECT_EQ(cluster.exchanges_per_round(), Counts{2});
  EXPECT_EQ(cluster.parts().rounds[0][0].sent.size(), 1u);
  EXPECT_EQ(cluster.parts().rounds[0][1].sent.size(), 1u);
  expect_equal_runs(
      cluster, traced, homes,
      [](int step) {
        return Tensors{Tensor::full({step + 1, 3}, 0.5 * step)};
      },
      2);
}

TEST(Partition, AFunctionThatOnlyReadsHasNoRounds) {
  Variable a(vector({1, 2}), {.name = "a"}), b(vector({3, 4}), {.name = "b"});
  const TracedGraph traced = trace({{float32, {2}}}, [&](const Tensors& in) {
    return Tensors{in[0] * a + b, b.value()};
  });
  const auto homes = HomeBook{{{a, on_server(0)}, {b, on_server(1)}}}.of(traced);
  SimulatedCluster cluster(traced, homes, 2);
  EXPECT_EQ(cluster.exchanges_per_round(), Counts{});
  EXPECT_EQ(cluster.parts().stages.size(), 1u);
  EXPECT_EQ(cluster.parts().pulls.size(), 2u);
  expect_equal_runs(
      cluster, traced, homes,
      [](int) {
        return Tensors{vector({5, 6})};
      },
      2);
}

TEST(Partition, AReadAfterItsWriteComesFromTheServer) {
  Variable v(vector({1, 2}), {.name = "v"});
  const TracedGraph traced = trace({{float32, {2}}}, [&](const Tensors& in) -> Tensors {
    const Tensor before = v.value();
    v.assign_add(in[0]);
    const Tensor after = v.value();
    return {before * in[0], after * in[0], after};
  });
  const auto homes = HomeBook{{{v, on_server(0)}}}.of(traced);
  SimulatedCluster cluster(traced, homes, 1);
  EXPECT_EQ(cluster.exchanges_per_round(), Counts{1});
  EXPECT_EQ(cluster.parts().rounds[0][0].returned.size(), 1u);
  expect_equal_runs(
      cluster, traced, homes,
      [](int step) {
        return Tensors{vector({1, static_cast<float>(step)})};
      },
      1);
}

TEST(Partition, AChainOverTwoServersTakesTwoRounds) {
  Variable a(vector({1, 2}), {.name = "a"}), b(vector({3, 4}), {.name = "b"});
  Variable count(Tensor::scalar(0), {.name = "count"});
  const TracedGraph traced = trace({{float32, {2}}}, [&](const Tensors& in) -> Tensors {
    a.assign_add(in[0]);
    const Tensor doubled = ops::matmul(a.value() * Tensor::full({1, 2}, 2.0), Tensor::of<float>({0, 1, 1, 0}, {2, 2}));
    b.assign_add(ops::sum(doubled * in[0], {0}));
    count.assign_add(Tensor::scalar(1));
    return {b.value(), count.value()};
  });
  const auto homes = HomeBook{{{a, on_server(0)}, {b, on_server(1)}, {count, kEverywhere}}}.of(traced);
  SimulatedCluster cluster(traced, homes, 2);
  // The count joins what the servers do anyway.
  EXPECT_EQ(cluster.exchanges_per_round(), (Counts{1, 1}));
  EXPECT_EQ(cluster.parts().stages.size(), 3u);
  expect_equal_runs(
      cluster, traced, homes,
      [](int step) {
        return Tensors{vector({1, static_cast<float>(step)})};
      },
      2);
}

TEST(Partition, AValueOfAnEarlierRoundReturnsToItsServerThroughTheWorker) {
  Variable a(vector({1, 2}), {.name = "a"}), b(vector({3, 4}), {.name = "b"});
  const TracedGraph traced = trace({{float32, {2}}}, [&](const Tensors& in) -> Tensors {
    const Tensor before = a.value();
    a.assign_add(in[0]);
    b.assign(ops::sum(a.value() * in[0]) * in[0]);
    a.assign(before + b.value());  // what a was before its first write, with what b became
    return {};
  });
  const auto homes = HomeBook{{{a, on_server(0)}, {b, on_server(1)}}}.of(traced);
  SimulatedCluster cluster(traced, homes, 2);
  EXPECT_EQ(cluster.exchanges_per_round(), (Counts{1, 1, 1}));
  expect_equal_runs(
      cluster, traced, homes,
      [](int step) {
        return Tensors{vector({1, static_cast<float>(step)})};
      },
      2);
}

TEST(Partition, WhatIsChangedByItsOwnValueIsReadOnTheServer) {
  // A moving average: another worker's update must not be lost between read and write.
  Variable average(vector({1, 2}), {.name = "average"});
  const TracedGraph traced = trace({{float32, {kUnknown, 2}}}, [&](const Tensors& in) -> Tensors {
    average.assign(average * 0.9 + ops::mean(in[0], {0}) * 0.1);
    return {};
  });
  const auto homes = HomeBook{{{average, on_server(0)}}}.of(traced);
  SimulatedCluster cluster(traced, homes, 1);
  EXPECT_TRUE(cluster.parts().replicated.empty());
  EXPECT_EQ(cluster.parts().rounds[0][0].sent.size(), 1u);
  expect_equal_runs(
      cluster, traced, homes,
      [](int step) {
        return Tensors{Tensor::full({step + 1, 2}, step)};
      },
      1);
}

TEST(Partition, AValueForTwoServersIsSentToEachOnce) {
  Variable a(vector({1, 2}), {.name = "a"}), b(vector({3, 4}), {.name = "b"}), c(vector({5, 6}), {.name = "c"});
  Variable rate(vector({1, 1}), {.name = "rate"});
  const TracedGraph traced = trace({{float32, {2}}}, [&](const Tensors& in) -> Tensors {
    const Tensor twice = in[0] * 2.0;
    for (Variable v : {a, b, c}) v.assign_add(twice);
    rate.assign(twice);
    a.assign_add(in[0]);
    return {twice, in[0], Tensor::scalar(3)};
  });
  const auto homes =
      HomeBook{{{a, on_server(0)}, {b, on_server(1)}, {c, on_server(1)}, {rate, kEverywhere}}}.of(traced);
  SimulatedCluster cluster(traced, homes, 3);
  ASSERT_EQ(cluster.exchanges_per_round(), Counts{2});
  EXPECT_EQ(cluster.parts().rounds[0][0].sent.size(), 2u);
  EXPECT_EQ(cluster.parts().rounds[0][0].sent[0], 0);  // an argument goes as it came
  EXPECT_EQ(cluster.parts().rounds[0][1].sent.size(), 1u);
  WholeRun whole(traced);
  whole.step({vector({1, 2})}, {});
  cluster.step({vector({1, 2})}, {});
  for (int input = 1; input < 4; ++input) expect_same_bits(cluster.value(input), whole.value(input), "variable");
  for (int server = 0; server < 2; ++server) expect_same_bits(cluster.value(4, server), whole.value(4), "rate");
}

TEST(Partition, RandomNumbersAreDrawnByTheWorker) {
  Variable v(vector({1, 2}), {.name = "v"});
  const TracedGraph traced = trace({{float32, {2}}}, [&](const Tensors& in) -> Tensors {
    v.assign_add(ops::random_uniform_like(v.value()) * in[0]);
    return {};
  });
  const auto homes = HomeBook{{{v, on_server(0)}}}.of(traced);
  SimulatedCluster cluster(traced, homes, 1);
  EXPECT_EQ(text_of(cluster.parts().rounds[0][0].graph).find("Random"), std::string::npos);
  expect_equal_runs(
      cluster, traced, homes,
      [](int) {
        return Tensors{vector({1, 2})};
      },
      1);
}

TEST(Partition, ABranchThatWritesRunsOnTheServerAndOneThatReadsOnTheWorker) {
  Variable a(vector({1, 2}), {.name = "a"}), b(vector({3, 4}), {.name = "b"});
  const TracedGraph traced = trace({{float32, {2}}}, [&](const Tensors& in) -> Tensors {
    const Tensor positive = ops::greater(ops::sum(in[0]), Tensor::scalar(2));
    const Tensor read = ops::cond(
        positive, [&] { return Tensors{a.value() + b}; }, [&] { return Tensors{a.value() - b}; })[0];
    const Tensor written = ops::cond(
        positive,
        [&] {
          a.assign_add(in[0]);
          return Tensors{a.value()};
        },
        [&] { return Tensors{in[0]}; })[0];
    return {read, written};
  });
  const auto homes = HomeBook{{{a, on_server(0)}, {b, on_server(1)}}}.of(traced);
  SimulatedCluster cluster(traced, homes, 2);
  EXPECT_EQ(cluster.exchanges_per_round(), Counts{1});
  EXPECT_EQ(cluster.parts().replicated.size(), 2u);
  expect_equal_runs(
      cluster, traced, homes,
      [](int step) {
        return Tensors{vector({1, static_cast<float>(step)})};
      },
      2);
}

TEST(Partition, WithoutWritesAnExchangeAnswersWithPresentValues) {
  Variable v(vector({1, 2}), {.name = "v"});
  const TracedGraph traced = trace({{float32, {2}}}, [&](const Tensors& in) -> Tensors {
    ops::cond(
        ops::greater(ops::sum(in[0]), Tensor::scalar(0)),
        [&] {
          v.assign_add(in[0]);
          return Tensors{in[0]};
        },
        [&] { return Tensors{in[0]}; });
    v.assign_add(in[0]);
    return {v.value()};
  });
  const PartitionedGraph parts = partition(*traced.graph, {kOnWorker, on_server(0)}, 1);
  const Graph again = without_writes(parts.rounds[0][0].graph);
  EXPECT_EQ(again.inputs.size(), parts.rounds[0][0].graph.inputs.size());
  Variable server(vector({5, 6}), {.name = "v"});
  Tensors inputs;
  for (int input : again.inputs) {
    const bool resource = again.spec({input, 0}).dtype == DType::Resource;
    const bool flag = again.spec({input, 0}).dtype == DType::Bool;
    inputs.push_back(resource ? server.handle() : flag ? Tensor::scalar(1, DType::Bool) : vector({1, 1}));
  }
  Specs specs;
  for (const Tensor& input : inputs) specs.push_back(input.spec());
  Tensors outputs(again.outputs.size());
  compile(again, specs, default_device())->run(inputs, outputs, {});
  EXPECT_EQ(outputs.back().to_vector<float>(), (std::vector<float>{5, 6}));
  EXPECT_EQ(server.value().to_vector<float>(), (std::vector<float>{5, 6}));
}

TEST(Partition, NodesRunWhereTheirDeviceSays) {
  Variable v(vector({1, 2}), {.name = "v"});
  TracedGraph traced = trace({{float32, {2}}}, [&](const Tensors& in) -> Tensors {
    const Tensor root = ops::sqrt(in[0]);
    v.assign_add(ops::exp(ops::abs(v.value())));
    return {ops::square(root)};
  });
  auto placed = std::make_shared<Graph>(*traced.graph);
  for (Node& node : placed->nodes) {
    if (node.op->name() == "Sqrt") node.device = "/job:ps/task:1";
    if (node.op->name() == "Exp") node.device = "/job:worker";
  }
  traced.graph = placed;
  const auto homes = HomeBook{{{v, on_server(0)}}}.of(traced);
  SimulatedCluster cluster(traced, homes, 2);
  EXPECT_EQ(cluster.exchanges_per_round(), Counts{2});
  EXPECT_NE(text_of(cluster.parts().rounds[0][1].graph).find("Sqrt"), std::string::npos);
  EXPECT_NE(text_of(cluster.parts().stages[0].graph).find("Exp"), std::string::npos);
  expect_equal_runs(
      cluster, traced, homes,
      [](int step) {
        return Tensors{vector({1, static_cast<float>(step)})};
      },
      2);
}

void expect_error(const std::function<void()>& body, std::initializer_list<const char*> words) {
  try {
    body();
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::InvalidArgument);
    for (const char* word : words) EXPECT_NE(std::string(error.what()).find(word), std::string::npos) << error.what();
  }
}

TEST(Partition, BadPlacementsAreErrors) {
  Variable a(vector({1, 2}), {.name = "a"}), b(vector({3, 4}), {.name = "b"});
  const TracedGraph both = trace({{float32, {2}}}, [&](const Tensors& in) -> Tensors {
    return ops::cond(
        ops::greater(ops::sum(in[0]), Tensor::scalar(0)),
        [&] {
          a.assign_add(in[0]);
          b.assign_add(in[0]);
          return Tensors{in[0]};
        },
        [&] { return Tensors{in[0]}; });
  });
  const auto cut = [&](Home first, Home second, int servers) {
    partition(*both.graph, HomeBook{{{a, first}, {b, second}}}.of(both), servers);
  };
  EXPECT_NO_THROW(cut(on_server(1), on_server(1), 2));
  EXPECT_NO_THROW(cut(on_server(0), kEverywhere, 1));
  expect_error([&] { cut(on_server(0), on_server(1), 2); }, {"Cond", "/job:ps/task:0", "/job:ps/task:1"});
  expect_error([&] { cut(on_server(1), kOnWorker, 2); }, {"/job:worker", "/job:ps/task:1"});
  expect_error([&] { cut(on_server(1), kEverywhere, 2); }, {"/job:ps/task:1", "every parameter server"});
  expect_error([&] { cut(on_server(2), on_server(2), 2); }, {"server=2", "servers=2"});
  expect_error([&] { partition(*both.graph, {}, 2); }, {"homes=0"});
  expect_error([&] { partition(*both.graph, {on_server(0), kOnWorker, kOnWorker}, 2); }, {"input=0"});

  const auto on_device = [&](const char* device) {
    Graph graph = *both.graph;
    graph.nodes[static_cast<std::size_t>(graph.outputs[0].node)].device = device;
    partition(graph, HomeBook{{{a, on_server(0)}, {b, on_server(0)}}}.of(both), 2);
  };
  EXPECT_NO_THROW(on_device("/job:ps/task:0/device:CPU:0"));
  EXPECT_NO_THROW(on_device("/device:CPU:0"));
  expect_error([&] { on_device("/job:ps/task:1"); }, {"/job:ps/task:1", "/job:ps/task:0"});
  expect_error([&] { on_device("/job:ps/task:2"); }, {"/job:ps/task:2", "parameter servers=2"});
  expect_error([&] { on_device("/job:chief"); }, {"/job:chief"});
}

}  // namespace
}  // namespace cohort
