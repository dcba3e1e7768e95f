#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "cohort/autodiff/tape.h"
#include "cohort/core/kernel.h"
#include "cohort/core/mixed_types.h"
#include "cohort/graph/passes/pass.h"
#include "cohort/graph/passes/rewrite.h"
#include "cohort/graph/specialize.h"
#include "cohort/graph/trace.h"
#include "cohort/ops/ops.h"

namespace cohort {
namespace {

using Body = std::function<Tensors(const Tensors&)>;

Tensor norm_numbers(const Shape& shape, int seed, DType dtype) {
  std::vector<float> values(static_cast<std::size_t>(shape.num_elements()));
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>((i * 7919 + static_cast<std::size_t>(seed) * 104729) % 1013) / 400.0f - 1.0f;
  }
  return ops::cast(Tensor::of(values, shape), dtype);
}

// A graph as passes find it.
Graph graph_of(const Body& body, const Tensors& arguments) {
  Specs specs;
  for (const Tensor& argument : arguments) specs.push_back(argument.spec());
  Graph graph = specialize(inline_calls(*trace(specs, body).graph), specs);
  passes::remove_dead_nodes(graph);
  passes::fold(graph);
  passes::eliminate_common_subexpressions(graph);
  return graph;
}

Tensors results_of_graph(const Graph& graph, const Tensors& arguments) {
  Tensors results(graph.outputs.size());
  compile(graph, graph.input_specs(), default_device())->run(arguments, results, {});
  return results;
}

// What runs on a GPU: ops that have kernels of their own.
Graph as_on_a_gpu(Graph graph) {
  passes::split_batch_norms(graph);
  passes::take_in_casts(graph, kGPU);
  passes::copy_reads_that_outlive_writes(graph);
  passes::fuse_elementwise(graph);
  return graph;
}
std::vector<std::string> kernels_of(const Graph& graph) {
  std::vector<std::string> names;
  for (const Node& node : graph.nodes) {
    if (!passes::is_input(node) && !passes::is_constant(node) && !node.op->is_alias()) names.push_back(node.op->name());
  }
  return names;
}
// The bytes that tensors of `elements` elements take that nodes read and write.
std::size_t bytes_moved(const Graph& graph, std::int64_t elements) {
  std::size_t bytes = 0;
  const auto count = [&](const TensorSpec& spec) {
    if (spec.shape.num_elements() == elements) bytes += static_cast<std::size_t>(elements) * size_of(spec.dtype);
  };
  for (const Node& node : graph.nodes) {
    if (passes::is_input(node) || node.op->is_alias()) continue;
    for (const Value& input : node.inputs) count(graph.spec(input));
    for (const TensorSpec& output : node.outputs) count(output);
  }
  return bytes;
}

// relu(norm(x) [+ shortcut]) and what flows back from dy: x, gamma, beta, dy[, shortcut] are the arguments.
Tensors activated_norm(const Tensors& in, int axis) {
  GradientTape tape;
  for (const Tensor& each : in) tape.watch(each);
  const DType stored = in[0].dtype(), computed = in[1].dtype();
  const ops::BatchNormResult norm = ops::batch_norm(ops::cast(in[0], computed), in[1], in[2], axis, 1e-2);
  const Tensor y = ops::cast(norm.output, stored);
  const Tensor result = ops::relu(in.size() > 4 ? y + in[4] : y);
  std::vector<Tensor> sources{in[0], in[1], in[2]};
  if (in.size() > 4) sources.push_back(in[4]);
  Tensors results{result, norm.mean, norm.variance};
  for (const Gradient& gradient : tape.gradient(result, sources, in[3])) results.push_back(gradient);
  return results;
}

struct NormCase {
  const char* name;
  DType stored, computed;
  Shape shape;
  int axis;
  bool shortcut;

  Tensors arguments() const {
    const Shape channels = {shape[axis < 0 ? shape.rank() + axis : axis]};
    Tensors all{norm_numbers(shape, 1, stored), norm_numbers(channels, 2, computed),
                norm_numbers(channels, 3, computed), norm_numbers(shape, 4, stored)};
    if (shortcut) all.push_back(norm_numbers(shape, 5, stored));
    return all;
  }
  Body body() const {
    return [axis = axis](const Tensors& in) { return activated_norm(in, axis); };
  }
};

void expect_close(const Tensor& got, const Tensor& want) {
  ASSERT_EQ(got.spec(), want.spec());
  const double relative = want.dtype() == DType::BFloat16  ? 1.0 / 128
                          : want.dtype() == DType::Float16 ? 1.0 / 1024
                          : want.dtype() == DType::Float32 ? 1e-5
                                                           : 1e-12;
  const std::vector<double> a = got.to_vector<double>(), b = want.to_vector<double>();
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], relative * std::max(1.0, std::abs(b[i]))) << i;
}

class SplitBatchNorms : public ::testing::TestWithParam<NormCase> {};

TEST_P(SplitBatchNorms, ComputeWhatTheWholeNormsDo) {
  const Tensors arguments = GetParam().arguments();
  const Graph before = graph_of(GetParam().body(), arguments);
  Graph after = before;
  passes::split_batch_norms(after);
  const auto names = kernels_of(after);
  EXPECT_EQ(std::count(names.begin(), names.end(), "BatchNorm"), 0);
  EXPECT_EQ(std::count(names.begin(), names.end(), "BatchNormGrad"), 0);
  const Tensors want = results_of_graph(before, arguments);
  for (const Graph& graph : {after, as_on_a_gpu(before)}) {
    const Tensors got = results_of_graph(graph, arguments);
    for (std::size_t i = 0; i < want.size(); ++i) {
      SCOPED_TRACE(i);
      expect_close(got[i], want[i]);
    }
  }
}

TEST_P(SplitBatchNorms, PassOverMemoryAsSeldomAsCanBe) {
  const NormCase& each = GetParam();
  const Graph graph = as_on_a_gpu(graph_of(each.body(), each.arguments()));
  const std::int64_t elements = each.shape.num_elements();
  const std::size_t size = static_cast<std::size_t>(elements) * size_of(each.stored);
  EXPECT_EQ(kernels_of(graph), (std::vector<std::string>{"BatchNormFactors", "FusedElementwise", "BatchNormGradFactors",
                                                         "FusedElementwise"}));
  // x; x, y; dy, x; dy, x, dx. What a sum's relu lets through is written for both that it flows to:
  // x; x, shortcut, dy, y, masked; masked, x; masked, x, dx
  EXPECT_EQ(bytes_moved(graph, elements), (each.shortcut ? 11 : 8) * size);
}

constexpr DType kWide = DType::Float32;
INSTANTIATE_TEST_SUITE_P(
    Norms, SplitBatchNorms,
    ::testing::Values(NormCase{"float32", kWide, kWide, {6, 5, 7, 8}, -1, false},
                      NormCase{"float32_planes", kWide, kWide, {6, 8, 5, 7}, 1, false},
                      NormCase{"float32_shortcut", kWide, kWide, {6, 5, 7, 8}, 3, true},
                      NormCase{"float64", DType::Float64, DType::Float64, {30, 5}, -1, false},
                      NormCase{"bfloat16", DType::BFloat16, kWide, {6, 5, 7, 8}, -1, false},
                      NormCase{"bfloat16_planes", DType::BFloat16, kWide, {6, 8, 5, 7}, 1, false},
                      NormCase{"bfloat16_shortcut", DType::BFloat16, kWide, {6, 5, 7, 8}, 3, true},
                      NormCase{"float16", DType::Float16, kWide, {50, 24}, 1, false},
                      NormCase{"float16_planes_shortcut", DType::Float16, kWide, {6, 8, 5, 7}, 1, true}),
    [](const auto& info) { return info.param.name; });

TEST(SplitBatchNorm, MakeOneNodeOfASumOfTwo) {
  const Shape shape{4, 6, 6, 16};
  const Tensors arguments{norm_numbers(shape, 1, DType::BFloat16), norm_numbers(shape, 2, DType::BFloat16),
                          norm_numbers({16}, 3, kWide), norm_numbers({16}, 4, kWide)};
  const Graph before = graph_of(
      [](const Tensors& in) {
        Tensors normed;
        for (int i = 0; i < 2; ++i) {
          const Tensor x = ops::cast(in[static_cast<std::size_t>(i)], kWide);
          normed.push_back(ops::cast(ops::batch_norm(x, in[2], in[3]).output, DType::BFloat16));
        }
        return Tensors{ops::relu(normed[0] + normed[1])};
      },
      arguments);
  const Graph after = as_on_a_gpu(before);
  EXPECT_EQ(kernels_of(after), (std::vector<std::string>{"BatchNormFactors", "BatchNormFactors", "FusedElementwise"}));
  expect_close(results_of_graph(after, arguments)[0], results_of_graph(before, arguments)[0]);
}

TEST(SplitBatchNorm, KeepAMaskThatOthersRead) {
  const NormCase each{"", DType::BFloat16, kWide, {6, 5, 7, 8}, -1, false};
  const Graph before = graph_of(
      [](const Tensors& in) {
        GradientTape tape;
        tape.watch(in[0]);
        const Tensor y = ops::cast(ops::batch_norm(ops::cast(in[0], kWide), in[1], in[2]).output, DType::BFloat16);
        const Tensor z = ops::relu(y);
        const Gradients gradients = tape.gradient(z, std::vector<Tensor>{in[0], y}, in[3]);
        return Tensors{gradients[0], gradients[1]};
      },
      each.arguments());
  const Graph after = as_on_a_gpu(before);
  const auto factors = std::find_if(after.nodes.begin(), after.nodes.end(),
                                    [](const Node& node) { return node.op->name() == "BatchNormGradFactors"; });
  ASSERT_NE(factors, after.nodes.end());
  EXPECT_EQ(factors->inputs.size(), 5u);
  const Tensors got = results_of_graph(after, each.arguments()), want = results_of_graph(before, each.arguments());
  for (std::size_t i = 0; i < want.size(); ++i) expect_close(got[i], want[i]);
}

TEST(SplitBatchNorm, LeaveNormsOfHalfTypesAndOfNothing) {
  const auto norm = [](const Tensors& in) { return Tensors{ops::batch_norm(in[0], in[1], in[1]).output}; };
  for (const auto& [dtype, rows] : {std::pair(DType::BFloat16, 4), std::pair(kWide, 0)}) {
    Graph graph = graph_of(norm, {Tensor::full({rows, 3}, 0, dtype), Tensor::full({3}, 0, dtype)});
    passes::split_batch_norms(graph);
    EXPECT_EQ(kernels_of(graph), (std::vector<std::string>{"BatchNorm"})) << dtype;
  }
}

// Two groups that cannot be one, as the second waits for what is made of the first.
TEST(FuseElementwise, ACastIsDoneByEachGroupThatReadsIt) {
  const Tensor x = norm_numbers({8, 16}, 1, DType::BFloat16);
  const Graph before = graph_of(
      [](const Tensors& in) {
        const Tensor half = ops::sin(ops::exp(in[0])), wide = ops::cast(half, kWide);
        const Tensor doubled = wide * 2.0;
        return Tensors{doubled, wide * ops::softmax(doubled)};
      },
      {x});
  Graph after = before;
  passes::fuse_elementwise(after);
  EXPECT_EQ(kernels_of(after), (std::vector<std::string>{"FusedElementwise", "Softmax", "FusedElementwise"}));
  for (const Node& node : after.nodes) {
    if (node.op->name() != "FusedElementwise") continue;
    const auto ops = node.attributes.get<std::vector<std::string>>("ops");
    EXPECT_EQ(std::count(ops.begin(), ops.end(), "Cast"), 1);
  }
  const Tensors got = results_of_graph(after, {x}), want = results_of_graph(before, {x});
  for (std::size_t i = 0; i < want.size(); ++i) EXPECT_EQ(got[i].to_vector<float>(), want[i].to_vector<float>());
}

// Nobody in a group reads the cast: it stays with what it casts.
TEST(FuseElementwise, ACastThatAKernelReadsStaysInItsGroup) {
  const Graph before =
      graph_of([](const Tensors& in) { return Tensors{ops::softmax(ops::cast(ops::exp(in[0]), kWide))}; },
               {norm_numbers({8, 16}, 1, DType::BFloat16)});
  Graph after = before;
  passes::fuse_elementwise(after);
  EXPECT_EQ(kernels_of(after), (std::vector<std::string>{"FusedElementwise", "Softmax"}));
}

}  // namespace
}  // namespace cohort
