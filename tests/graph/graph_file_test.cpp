#include <gtest/gtest.h>

#include <chrono>

#include "cohort/autodiff/control_flow.h"
#include "cohort/graph/executable.h"
#include "cohort/graph/graph_file.h"
#include "cohort/graph/trace.h"
#include "cohort/ops/math.h"
#include "cohort/ops/reduce.h"

namespace cohort {
namespace {

TracedGraph sample() {
  const Tensor constant = Tensor::of<float>({1, 2, 3}, {3});
  return trace({{float32, {kUnknown, 3}}}, [&](const Tensors& in) {
    const Tensor y = ops::sum(in[0] * constant, {1});
    return ops::cond(
        ops::greater(ops::sum(y), Tensor::scalar(0)), [&] { return Tensors{y * 2.0}; }, [&] { return Tensors{y}; });
  });
}

std::vector<float> run_graph(const Graph& graph, const Tensor& x) {
  Tensors out(1);
  compile(graph, {x.spec()}, default_device())->run(std::vector<Tensor>{x}, out, {});
  return out[0].to_vector<float>();
}

TEST(GraphFile, RoundTripComputesTheSame) {
  const TracedGraph traced = sample();
  const auto parsed = parse_graph_with_constants(serialize_with_constants(*traced.graph));
  EXPECT_EQ(parsed->to_string(), traced.graph->to_string());
  const Tensor x = Tensor::of<float>({1, 1, 1, 2, 2, 2}, {2, 3});
  EXPECT_EQ(run_graph(*parsed, x), (std::vector<float>{12, 24}));
  EXPECT_EQ(run_graph(*parsed, x), run_graph(*traced.graph, x));
}

TEST(GraphFile, ConstantsTravelOnceByContent) {
  const Tensor big = Tensor::full({100}, 3.0);
  const Tensor twin = Tensor::full({100}, 3.0);
  const TracedGraph traced = trace({{float32, {100}}}, [&](const Tensors& in) { return Tensors{in[0] * big + twin}; });
  ConstantTable constants;
  const std::string bytes = serialize(*traced.graph, constants);
  EXPECT_EQ(constants.tensors.size(), 1u);
  EXPECT_LT(bytes.size(), 1000u);
  EXPECT_EQ(parse_graph(bytes, constants)->nodes.size(), traced.graph->nodes.size());
  EXPECT_THROW(parse_graph(bytes, {}), Error);
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int kManyInputs = 10'000;  // each allocation takes a sanitizer long
#else
constexpr int kManyInputs = 200'000;
#endif

// Looking for each node among all inputs would take minutes.
TEST(GraphFile, ManyInputsAreReadInOnePass) {
  Graph graph;
  for (int i = 0; i < kManyInputs; ++i) {
    graph.inputs.push_back(graph.add(find_op("Input"), {}, {{"dtype", DType::Float32}, {"shape", Shape()}}).node);
  }
  ConstantTable constants;
  const std::string bytes = serialize(graph, constants);
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(parse_graph(bytes, constants)->inputs.size(), std::size_t{kManyInputs});
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));
}

TEST(GraphFile, MalformedBytesAreRefused) {
  const std::string good = serialize_with_constants(*sample().graph);
  EXPECT_THROW(parse_graph_with_constants("not a graph"), Error);
  // Cut off or changed anywhere: an error or another valid graph, never a crash.
  for (std::size_t i = 0; i < good.size(); ++i) {
    for (const std::string& bad : {good.substr(0, i), [&] {
                                     std::string changed = good;
                                     changed[i] = static_cast<char>(changed[i] ^ 0x5a);
                                     return changed;
                                   }()}) {
      try {
        parse_graph_with_constants(bad);
      } catch (const Error&) {
      }
    }
  }
}

TEST(GraphFile, AnInputThatIsNotListedIsRefused) {
  Graph graph = *sample().graph;
  graph.add(find_op("Input"), {}, {{"dtype", float32}, {"shape", Shape{2}}}, "hidden");
  EXPECT_THROW(parse_graph_with_constants(serialize_with_constants(graph)), Error);
}

TEST(GraphFile, SizesThatWrapAroundAreRefused) {
  Graph graph;
  EXPECT_THROW(
      graph.add(find_op("Fill"), {}, {{"shape", Shape{3, 6148914691236560896}}, {"dtype", float32}, {"value", 0.0}}),
      Error);
}

TEST(Graph, IsReadableByPeople) {
  const std::string text = sample().graph->to_string();
  EXPECT_NE(text.find("Multiply("), std::string::npos) << text;
  EXPECT_NE(text.find("float32(None, 3)"), std::string::npos) << text;
  const std::string dot = sample().graph->to_dot();
  EXPECT_EQ(dot.rfind("digraph", 0), 0u);
  EXPECT_NE(dot.find("->"), std::string::npos);
}

}  // namespace
}  // namespace cohort
