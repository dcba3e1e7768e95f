#include "tests/graph/simulated_cluster.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "cohort/graph/executable.h"
#include "cohort/graph/graph_file.h"
#include "tests/support/same_products.h"

namespace cohort::testing {
namespace {

Variable copy_of(const Tensor& resource) {
  const Tensor value = resource.resource()->shared_value().clone();
  return Variable(value, {.name = resource.resource()->name(), .dtype = value.dtype()});
}

Tensors run(const Graph& graph, const Tensors& inputs, const RandomState& random) {
  const auto sent = parse_graph_with_constants(serialize_with_constants(graph));
  Specs specs;
  for (const Tensor& input : inputs) specs.push_back(input.spec());
  Tensors outputs(graph.outputs.size());
  compile(*sent, specs, default_device())->run(inputs, outputs, random);
  return outputs;
}

}  // namespace

SimulatedCluster::SimulatedCluster(const TracedGraph& traced, const std::vector<Home>& homes, int servers)
    : parts_(partition(*traced.graph, homes, servers)),
      homes_(homes),
      num_arguments_(static_cast<std::size_t>(traced.num_arguments)),
      on_server_(static_cast<std::size_t>(servers)) {
  for (std::size_t i = 0; i < traced.captures.size(); ++i) {
    const int input = static_cast<int>(num_arguments_ + i);
    const Home& home = homes[num_arguments_ + i];
    for (int server = 0; server < servers; ++server) {
      const bool here = home.kind == Home::Kind::EveryServer || home.server == server;
      if (home.kind != Home::Kind::Worker && here) {
        on_server_[static_cast<std::size_t>(server)].emplace(input, copy_of(traced.captures[i]));
      }
    }
    if (home.kind == Home::Kind::Worker) on_worker_.emplace(input, copy_of(traced.captures[i]));
  }
  for (const ServerPull& pull : parts_.pulls) {
    for (int input : pull.resources) {
      const Tensor value = read_now(variable(input, pull.server));
      on_worker_.emplace(input, Variable(value, {.name = "replica", .dtype = value.dtype()}));
    }
  }
}

const Variable& SimulatedCluster::variable(int input, int server) const {
  return on_server_[static_cast<std::size_t>(server)].at(input);
}

Tensor SimulatedCluster::from(int source, const Tensors& arguments, const Tensors& slots) const {
  if (source < 0) return slots[static_cast<std::size_t>(~source)];
  const auto input = static_cast<std::size_t>(source);
  return input < num_arguments_ ? arguments[input] : on_worker_.at(source).handle();
}

Tensors SimulatedCluster::step(const Tensors& arguments, const RandomState& random) {
  Tensors slots(static_cast<std::size_t>(parts_.slots));
  for (std::size_t k = 0; k < parts_.stages.size(); ++k) {
    const WorkerStage& stage = parts_.stages[k];
    Tensors inputs;
    for (int source : stage.inputs) inputs.push_back(from(source, arguments, slots));
    const Tensors outputs = run(stage.graph, inputs, random);
    for (std::size_t i = 0; i < outputs.size(); ++i) slots[static_cast<std::size_t>(stage.outputs[i])] = outputs[i];
    if (k == parts_.rounds.size()) break;
    for (const ServerExchange& each : parts_.rounds[k]) exchange(each, arguments, slots, random);
  }
  Tensors results;
  for (int output : parts_.outputs) results.push_back(from(output, arguments, slots));
  for (const auto& [replica, value] : fresh_) write_now(*replica, value);
  fresh_.clear();
  return results;
}

void SimulatedCluster::exchange(const ServerExchange& exchange, const Tensors& arguments, Tensors& slots,
                                const RandomState& random) {
  Tensors inputs;
  for (int source : exchange.sent) inputs.push_back(from(source, arguments, slots));
  for (int input : exchange.resources) inputs.push_back(variable(input, exchange.server).handle());
  const Tensors outputs = run(exchange.graph, inputs, random);
  for (std::size_t i = 0; i < exchange.returned.size(); ++i) {
    slots[static_cast<std::size_t>(exchange.returned[i])] = outputs[i];
  }
  for (int input : exchange.fresh) {
    fresh_.emplace_back(&on_worker_.at(input), read_now(variable(input, exchange.server)));
  }
}

Tensor SimulatedCluster::value(int input, int server) const {
  const Home& home = homes_[static_cast<std::size_t>(input)];
  if (home.kind == Home::Kind::Worker) return read_now(on_worker_.at(input));
  return read_now(variable(input, home.kind == Home::Kind::Server ? home.server : server));
}

std::vector<std::size_t> SimulatedCluster::exchanges_per_round() const {
  std::vector<std::size_t> counts;
  for (const auto& round : parts_.rounds) counts.push_back(round.size());
  return counts;
}

WholeRun::WholeRun(const TracedGraph& traced)
    : graph_(traced.graph), num_arguments_(static_cast<std::size_t>(traced.num_arguments)) {
  for (const Tensor& capture : traced.captures) variables_.push_back(copy_of(capture));
}

Tensors WholeRun::step(const Tensors& arguments, const RandomState& random) {
  Tensors inputs = arguments;
  for (const Variable& variable : variables_) inputs.push_back(variable.handle());
  return run(*graph_, inputs, random);
}

Tensor WholeRun::value(int input) const {
  return read_now(variables_[static_cast<std::size_t>(input) - num_arguments_]);
}

std::vector<Home> HomeBook::of(const TracedGraph& traced) const {
  std::vector<Home> homes(static_cast<std::size_t>(traced.num_arguments));
  for (const Tensor& capture : traced.captures) {
    auto found = std::find_if(known.begin(), known.end(),
                              [&](const auto& each) { return each.first.handle().key() == capture.key(); });
    homes.push_back(found == known.end() ? kOnWorker : found->second);
  }
  return homes;
}

void expect_same_bits(const Tensor& a, const Tensor& b, const std::string& what) {
  ASSERT_EQ(a.spec(), b.spec()) << what;
  const Tensor left = a.to_host(), right = b.to_host();
  if (!test::products_keep_bits() && left.dtype() == DType::Float32) {
    SCOPED_TRACE(what);
    return test::expect_same_training(left.to_vector<float>(), right.to_vector<float>());
  }
  EXPECT_EQ(std::string_view(static_cast<const char*>(left.raw()), left.bytes()),
            std::string_view(static_cast<const char*>(right.raw()), right.bytes()))
      << what << ": " << left.to_string() << " and " << right.to_string();
}

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

}  // namespace cohort::testing
