#include "cohort/graph/partition.h"

#include <gtest/gtest.h>

#include <functional>

#include "cohort/autodiff/control_flow.h"
#include "cohort/autodiff/tape.h"
#include "cohort/core/device_spec.h"
#include "cohort/graph/function.h"
#include "cohort/ops/math.h"
#include "cohort/ops/matmul.h"
#include "cohort/ops/random_ops.h"
#include "cohort/ops/reduce.h"
#include "tests/graph/simulated_cluster.h"
#include "tests/support/vector.h"

namespace cohort {
namespace {

using testing::expect_equal_runs;
using testing::expect_same_bits;
using testing::HomeBook;
using testing::kEverywhere;
using testing::kOnWorker;
using testing::on_server;
using testing::SimulatedCluster;
using testing::WholeRun;
using Counts = std::vector<std::size_t>;

// Frozen weights come last among those that a reply may bring, so that it can leave them out.
TEST(Partition, WhatAFunctionWritesComesBackBeforeWhatItOnlyReads) {
  Variable frozen(vector({1, 2}), {.name = "frozen"}), trained(vector({3, 4}), {.name = "trained"});
  const TracedGraph traced = trace({{float32, {2}}}, [&](const Tensors& in) -> Tensors {
    const Tensor y = in[0] * frozen * trained;
    trained.assign_add(in[0]);
    return {y};
  });
  const auto homes = HomeBook{{{frozen, on_server(0)}, {trained, on_server(0)}}}.of(traced);
  SimulatedCluster cluster(traced, homes, 1);
  ASSERT_EQ(cluster.exchanges_per_round(), Counts{1});
  const ServerExchange& exchange = cluster.parts().rounds[0][0];
  const auto name_of = [&](int input) {
    return traced.captures[static_cast<std::size_t>(input - traced.num_arguments)].resource()->name();
  };
  ASSERT_EQ(exchange.fresh.size(), 2u);
  EXPECT_EQ(name_of(exchange.fresh[0]), "trained");
  EXPECT_EQ(name_of(exchange.fresh[1]), "frozen");
  EXPECT_EQ(exchange.resources.size(), 1u);
  EXPECT_EQ(name_of(exchange.resources[0]), "trained");
  expect_equal_runs(
      cluster, traced, homes,
      [](int step) {
        return Tensors{vector({1, static_cast<float>(step)})};
      },
      1);
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
  EXPECT_EQ(cluster.parts().rounds[0][0].graph.to_string().find("Random"), std::string::npos);
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

TEST(Partition, TheGradientOfABranchThatWritesNeedsNoServer) {
  Variable a(vector({1, 2}), {.name = "a"}), b(vector({3, 4}), {.name = "b"});
  const TracedGraph traced = trace({{float32, {2}}}, [&](const Tensors& in) -> Tensors {
    GradientTape tape;
    const Tensor weight = b.value();
    const Tensor y = ops::cond(
        ops::greater(ops::sum(in[0]), Tensor::scalar(2)),
        [&] {
          a.assign_add(in[0]);
          return Tensors{in[0] * weight};
        },
        [&] { return Tensors{weight}; })[0];
    b.assign_sub(tape.gradient(ops::sum(y), std::vector<Variable>{b})[0]);
    return {y};
  });
  const auto homes = HomeBook{{{a, on_server(0)}, {b, on_server(1)}}}.of(traced);
  SimulatedCluster cluster(traced, homes, 2);
  // b waits for the shape of y, which the branch on server 0 returns.
  EXPECT_EQ(cluster.exchanges_per_round(), (Counts{1, 1}));
  EXPECT_NE(cluster.parts().stages[1].graph.to_string().find("Cond"), std::string::npos);
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
  Function root = function([](Tensor x) { return ops::sqrt(x); });
  const TracedGraph traced = trace({{float32, {2}}}, [&](const Tensors& in) -> Tensors {
    const Tensor first = [&] {
      auto scope = device("/job:ps/task:1");
      return root(in[0]);
    }();
    auto scope = device("/job:worker");
    v.assign_add(ops::exp(ops::abs(v.value())));
    return {ops::square(first)};
  });
  const auto homes = HomeBook{{{v, on_server(0)}}}.of(traced);
  SimulatedCluster cluster(traced, homes, 2);
  EXPECT_EQ(cluster.exchanges_per_round(), Counts{2});
  EXPECT_NE(cluster.parts().rounds[0][1].graph.to_string().find("Sqrt"), std::string::npos);
  EXPECT_NE(cluster.parts().stages[0].graph.to_string().find("Exp"), std::string::npos);
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
