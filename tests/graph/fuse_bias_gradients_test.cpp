#include <gtest/gtest.h>

#include "cohort/autodiff/tape.h"
#include "cohort/core/kernel.h"
#include "cohort/graph/executable.h"
#include "cohort/graph/passes/pass.h"
#include "cohort/graph/specialize.h"
#include "cohort/graph/trace.h"
#include "cohort/ops/ops.h"
#include "cohort/variables/variable.h"
#include "tests/graph/rewritten_graph.h"
#include "tests/support/same_products.h"

namespace cohort {
namespace {

constexpr const char* kBoth = "MatMulBiasGrad";

Tensor scattered(const Shape& shape, int seed, DType dtype = DType::Float32) {
  std::vector<float> values(static_cast<std::size_t>(shape.num_elements()));
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>((i * 7919 + static_cast<std::size_t>(seed) * 104729) % 1009) / 504.0f - 1.0f;
  }
  return ops::cast(Tensor::of(values, shape), dtype);
}

// A function as these of a GPU's passes leave it.
class BiasesFused : public test::RewrittenGraph {
 public:
  BiasesFused(const Tensors& arguments, const Body& body) : RewrittenGraph(arguments, body, rewrite, DType::BFloat16) {}

 private:
  static void rewrite(Graph& graph) {
    passes::fold(graph);
    passes::take_in_casts(graph, kGPU);
    passes::fuse_bias_gradients(graph);
  }
};

// The gradients of a layer's weight and bias, given its inputs, both of these, and what flows back.
Tensors gradients_of_layer(const Tensors& in, DType dtype) {
  GradientTape tape;
  tape.watch(in[1]);
  tape.watch(in[2]);
  const Tensor y = ops::matmul(ops::cast(in[0], dtype), ops::cast(in[1], dtype)) + ops::cast(in[2], dtype);
  const Gradients g = tape.gradient(y, std::vector<Tensor>{in[1], in[2]}, ops::cast(in[3], dtype));
  return {g[0], g[1]};
}

TEST(FuseBiasGradients, AreMadeByTheProduct) {
  for (const DType dtype : {DType::Float32, DType::Float64, DType::BFloat16, DType::Float16}) {
    SCOPED_TRACE(to_string(dtype));
    const BiasesFused layer(
        {scattered({40, 70}, 1), scattered({70, 50}, 2), scattered({50}, 3), scattered({40, 50}, 4)},
        [=](const Tensors& in) { return gradients_of_layer(in, dtype); });
    EXPECT_EQ(layer.count(kBoth), 1) << layer.graph().to_string();
    EXPECT_EQ(layer.count("SumToLike"), 0);
    EXPECT_EQ(layer.count("MatMul") + layer.count("FusedMatMul"), 0);
    // Gradients of float32 weights leave a product of a half type as such.
    const DType made = dtype == DType::Float64 ? dtype : DType::Float32;
    EXPECT_EQ(layer.node(kBoth).outputs, (Specs{{made, {70, 50}}, {made, {50}}}));
  }
}

TEST(FuseBiasGradients, TakeRowsOfSeveralAxes) {
  const BiasesFused layer(
      {scattered({4, 10, 30}, 1), scattered({30, 20}, 2), scattered({20}, 3), scattered({4, 10, 20}, 4)},
      [](const Tensors& in) { return gradients_of_layer(in, DType::BFloat16); });
  EXPECT_EQ(layer.count(kBoth), 1) << layer.graph().to_string();
  EXPECT_EQ(layer.count("SumToLike"), 0);
}

TEST(FuseBiasGradients, KeepTheShapeOfABias) {
  const BiasesFused heads(
      {scattered({8, 30}, 1), scattered({30, 4, 5}, 2), scattered({4, 5}, 3), scattered({8, 4, 5}, 4)},
      [](const Tensors& in) {
        GradientTape tape;
        tape.watch(in[1]);
        tape.watch(in[2]);
        const Tensor y = ops::tensordot(in[0], in[1], 1) + in[2];
        const Gradients g = tape.gradient(y, std::vector<Tensor>{in[1], in[2]}, in[3]);
        return Tensors{g[0], g[1]};
      });
  EXPECT_EQ(heads.count(kBoth), 1) << heads.graph().to_string();
  EXPECT_EQ(heads.node(kBoth).outputs[1].shape, (Shape{4, 5}));
}

TEST(FuseBiasGradients, ManyLayersHaveOneEach) {
  const BiasesFused layers({scattered({16, 12}, 1), scattered({12, 12}, 2), scattered({12}, 3), scattered({12, 12}, 4),
                            scattered({12}, 5), scattered({16, 12}, 6)},
                           [](const Tensors& in) {
                             GradientTape tape;
                             const std::vector<Tensor> weights(in.begin() + 1, in.begin() + 5);
                             for (const Tensor& weight : weights) tape.watch(weight);
                             const Tensor hidden = ops::relu(ops::matmul(in[0], in[1]) + in[2]);
                             const Gradients g = tape.gradient(ops::matmul(hidden, in[3]) + in[4], weights, in[5]);
                             return Tensors{g[0], g[1], g[2], g[3]};
                           });
  EXPECT_EQ(layers.count(kBoth), 2) << layers.graph().to_string();
  EXPECT_EQ(layers.count("SumToLike"), 0);
}

// The gradients of a convolution's kernel and bias, of given inputs.
Tensors gradients_of_convolution(const Tensors& in, DType dtype, const ops::ConvOptions& options) {
  GradientTape tape;
  tape.watch(in[1]);
  tape.watch(in[2]);
  const Tensor y = ops::conv(ops::cast(in[0], dtype), ops::cast(in[1], dtype), options) + ops::cast(in[2], dtype);
  const Gradients g = tape.gradient(y, std::vector<Tensor>{in[1], in[2]}, ops::cast(in[3], dtype));
  return {g[0], g[1]};
}

TEST(FuseBiasGradients, AreMadeBesideTheKernelOfAConvolution) {
  const Tensors plane = {scattered({5, 7, 6, 4}, 1), scattered({3, 2, 4, 8}, 2), scattered({8}, 3),
                         scattered({5, 5, 5, 8}, 4)};
  const BiasesFused layer(plane, [](const Tensors& in) { return gradients_of_convolution(in, DType::Float32, {}); });
  EXPECT_EQ(layer.count("ConvBiasGrad"), 1) << layer.graph().to_string();
  EXPECT_EQ(layer.count("SumToLike") + layer.count("ConvGradKernel"), 0);
  const Tensors groups = {scattered({5, 9, 4}, 1), scattered({3, 2, 6}, 2), scattered({6}, 3), scattered({5, 5, 6}, 4)};
  const BiasesFused strided(groups, [](const Tensors& in) {
    return gradients_of_convolution(in, DType::Float32, {.strides = {2}, .padding = "same"});
  });
  EXPECT_EQ(strided.count("ConvBiasGrad"), 1) << strided.graph().to_string();
}

TEST(FuseBiasGradients, LeaveSumsBesideAConvolutionThatAreOfAnotherKind) {
  const Tensors plane = {scattered({5, 7, 6, 4}, 1), scattered({3, 2, 4, 8}, 2), scattered({8}, 3),
                         scattered({5, 5, 5, 8}, 4), scattered({5, 8}, 5)};
  // Of some axes; of a half type, where the sums are float32.
  const BiasesFused some(plane, [](const Tensors& in) {
    return Tensors{gradients_of_convolution(in, DType::Float32, {})[0], ops::sum_to_like(in[3], in[4])};
  });
  EXPECT_EQ(some.count("ConvBiasGrad"), 0);
  const BiasesFused half(plane, [](const Tensors& in) { return gradients_of_convolution(in, DType::BFloat16, {}); });
  EXPECT_EQ(half.count("ConvGradKernel"), 1) << half.graph().to_string();
}

TEST(FuseBiasGradients, LeaveOtherSums) {
  const Tensors arguments = {scattered({12, 6}, 1), scattered({12, 4}, 2), scattered({12, 1}, 3), scattered({4}, 4),
                             scattered({2, 4}, 5)};
  const auto product = [](const Tensor& x, const Tensor& dy) { return ops::matmul(x, dy, true, false); };
  // Of rows, of other elements, of some rows only; beside a product that reads the matrix on the other side.
  const BiasesFused rows(arguments, [&](const Tensors& in) {
    return Tensors{product(in[0], in[1]), ops::sum_to_like(in[1], in[2])};
  });
  EXPECT_EQ(rows.count(kBoth), 0);
  const BiasesFused others(arguments, [&](const Tensors& in) {
    return Tensors{product(in[0], in[1]), ops::sum_to_like(ops::abs(in[1]), in[3])};
  });
  EXPECT_EQ(others.count(kBoth), 0);
  const BiasesFused parts(arguments, [&](const Tensors& in) {
    return Tensors{product(in[0], in[1]), ops::sum_to_like(ops::reshape(in[1], {6, 2, 4}), in[4])};
  });
  EXPECT_EQ(parts.count(kBoth), 0);
  const BiasesFused left(arguments, [&](const Tensors& in) {
    return Tensors{product(in[1], in[0]), ops::sum_to_like(in[1], in[3])};
  });
  EXPECT_EQ(left.count(kBoth), 0);
}

TEST(FuseBiasGradients, LeaveAProductThatNeedsTheSums) {
  const BiasesFused fused({scattered({12, 4}, 1), scattered({4}, 2)}, [](const Tensors& in) {
    const Tensor sums = ops::sum_to_like(in[0], in[1]);
    return Tensors{ops::matmul(in[0] * sums, in[0], true, false), sums};
  });
  EXPECT_EQ(fused.count(kBoth), 0);
  EXPECT_EQ(fused.count("SumToLike"), 1);
}

TEST(FuseBiasGradients, AVariableThatTheSumsChangeIsReadBefore) {
  Variable bias(scattered({4}, 2));
  const auto before = bias.value().to_vector<float>();
  const Tensors arguments = {scattered({12, 4}, 1), scattered({12, 3}, 3)};
  Specs specs;
  for (const Tensor& argument : arguments) specs.push_back(argument.spec());
  const TracedGraph traced = trace(specs, [&](const Tensors& in) {
    bias.assign_sub(ops::sum_to_like(in[0], bias.value()));
    return Tensors{ops::matmul(in[1] * ops::sum(bias.value()), in[0], true, false)};  // of what it is by then
  });
  Tensors inputs = arguments;
  inputs.insert(inputs.end(), traced.captures.begin(), traced.captures.end());
  for (std::size_t i = specs.size(); i < inputs.size(); ++i) specs.push_back(inputs[i].spec());
  Graph graph = specialize(*traced.graph, specs);
  passes::fuse_bias_gradients(graph);
  Tensors seen(1), wanted(1);
  compile(graph, specs, default_device(), {})->run(inputs, seen, {});
  bias.assign(Tensor::of(before, {4}));
  compile(*traced.graph, specs, default_device(), {.fuse = false})->run(inputs, wanted, {});
  test::expect_same_product(seen[0].to_vector<float>(), wanted[0].to_vector<float>(), DType::Float32);
}

TEST(FuseBiasGradients, AreForGpusAlone) {
  const BiasesFused layer({scattered({40, 70}, 1), scattered({70, 50}, 2), scattered({50}, 3), scattered({40, 50}, 4)},
                          [](const Tensors& in) { return gradients_of_layer(in, DType::BFloat16); });
  const bool on_a_gpu = default_device().kernel_type() == kGPU;
  EXPECT_EQ(layer.count_compiled(kBoth), on_a_gpu ? 1 : 0);
  EXPECT_EQ(layer.count_compiled("SumToLike"), on_a_gpu ? 0 : 1);
}

}  // namespace
}  // namespace cohort
