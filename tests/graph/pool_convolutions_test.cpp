#include <gtest/gtest.h>

#include <functional>

#include "cohort/autodiff/tape.h"
#include "cohort/core/kernel.h"
#include "cohort/graph/passes/pass.h"
#include "cohort/ops/ops.h"
#include "tests/graph/rewritten_graph.h"

namespace cohort {
namespace {

// Whole numbers, so that sums are exact and no order of pixels depends on how they are rounded.
Tensor whole_numbers(const Shape& shape, int seed, DType dtype = DType::Float32) {
  std::vector<float> values(static_cast<std::size_t>(shape.num_elements()));
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>((i * 7919 + static_cast<std::size_t>(seed) * 104729) % 1009 % 7) - 3.0f;
  }
  return ops::cast(Tensor::of(values, shape), dtype);
}

// A function as these passes leave it.
class ConvsPooled : public test::RewrittenGraph {
 public:
  ConvsPooled(const Tensors& arguments, const Body& body) : RewrittenGraph(arguments, body, rewrite, DType::Float32) {}

 private:
  static void rewrite(Graph& graph) {
    passes::fold(graph);
    passes::eliminate_common_subexpressions(graph);
    passes::mask_before_unpool(graph);
    passes::fuse_epilogues(graph);
    passes::fuse_bias_gradients(graph);
    passes::pool_convolutions(graph);
  }
};

Tensor layer_of(const Tensors& in) { return ops::relu(ops::conv(in[0], in[1]) + in[2]); }
// Images, a kernel, a bias, and what flows back.
Tensors pooled_layer(std::int64_t channels, DType dtype = DType::Float32) {
  return {whole_numbers({3, 9, 8, channels}, 1, dtype), whole_numbers({3, 3, channels, 6}, 2, dtype),
          whole_numbers({6}, 3, dtype), whole_numbers({3, 3, 3, 6}, 4, dtype)};
}
// What comes out, and the gradients of kernel and bias.
Tensors trained(const Tensors& in, const std::function<Tensor(const Tensor&)>& pool) {
  GradientTape tape;
  tape.watch(in[1]);
  tape.watch(in[2]);
  const Tensor y = pool(layer_of(in));
  const Gradients g = tape.gradient(y, std::vector<Tensor>{in[1], in[2]}, in[3]);
  return {y, g[0].dense(), g[1].dense()};
}
Tensor pool_pairs(const Tensor& y) { return ops::max_pool(y, {2}); }

TEST(PoolConvolutions, AreOneNodeForthAndOneBack) {
  for (const std::int64_t channels : {1, 3}) {
    const ConvsPooled layer(pooled_layer(channels), [](const Tensors& in) { return trained(in, pool_pairs); });
    EXPECT_EQ(layer.count("ConvReluMaxPool"), 1) << layer.graph().to_string();
    EXPECT_EQ(layer.count("ConvReluMaxPoolGrad"), 1) << layer.graph().to_string();
    for (const char* gone : {"FusedConv", "MaxPool", "MaxPoolGrad", "ReluGrad", "ConvBiasGrad"}) {
      EXPECT_EQ(layer.count(gone), 0) << gone;
    }
    EXPECT_EQ(layer.count_compiled("ConvReluMaxPoolGrad"), 1);
  }
}

TEST(PoolConvolutions, NeedNoGradient) {
  const ConvsPooled layer(pooled_layer(1), [](const Tensors& in) { return Tensors{pool_pairs(layer_of(in))}; });
  EXPECT_EQ(layer.count("ConvReluMaxPool"), 1) << layer.graph().to_string();
  EXPECT_EQ(layer.count("FusedConv"), 0);
}

TEST(PoolConvolutions, LeaveOtherSizesTypesAndWindows) {
  const auto left = [](const ConvsPooled& layer) {
    EXPECT_EQ(layer.count("ConvReluMaxPool"), 0) << layer.graph().to_string();
    EXPECT_EQ(layer.count("MaxPool"), 1);
  };
  const auto training = [](const Tensors& in) { return trained(in, pool_pairs); };
  left(ConvsPooled(pooled_layer(5), training));
  left(ConvsPooled(pooled_layer(1, DType::Float64), training));
  left(ConvsPooled(pooled_layer(1), [](const Tensors& in) { return Tensors{ops::max_pool(layer_of(in), {3})}; }));
  left(ConvsPooled(pooled_layer(1), [](const Tensors& in) {
    return Tensors{ops::max_pool(layer_of(in), {2}, {.strides = std::vector<std::int64_t>{1}})};
  }));
  left(ConvsPooled(pooled_layer(1), [](const Tensors& in) {
    return Tensors{pool_pairs(ops::sigmoid(ops::conv(in[0], in[1]) + in[2]))};
  }));
}

TEST(PoolConvolutions, LeaveWhatSomebodyElseReads) {
  const ConvsPooled image(pooled_layer(1), [](const Tensors& in) {
    const Tensor y = layer_of(in);
    return Tensors{pool_pairs(y), y};
  });
  EXPECT_EQ(image.count("ConvReluMaxPool"), 0) << image.graph().to_string();
  // What flows to the images needs all of what flows to the convolution.
  const ConvsPooled deep(pooled_layer(1), [](const Tensors& in) {
    GradientTape tape;
    for (int i : {0, 1, 2}) tape.watch(in[static_cast<std::size_t>(i)]);
    const Gradients g = tape.gradient(pool_pairs(layer_of(in)), std::vector<Tensor>{in[0], in[1], in[2]}, in[3]);
    return Tensors{g[0].dense(), g[1].dense(), g[2].dense()};
  });
  EXPECT_EQ(deep.count("ConvReluMaxPool"), 0) << deep.graph().to_string();
  EXPECT_EQ(deep.count("MaxPoolGrad"), 1);
}

}  // namespace
}  // namespace cohort
