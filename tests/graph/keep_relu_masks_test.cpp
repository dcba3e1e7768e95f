#include <gtest/gtest.h>

#include "cohort/autodiff/tape.h"
#include "cohort/core/kernel.h"
#include "cohort/graph/passes/pass.h"
#include "cohort/ops/ops.h"
#include "tests/graph/rewritten_graph.h"

namespace cohort {
namespace {

// Small whole numbers, so that sums are exact and no sign depends on how they are rounded; `shift` keeps them from 0.
Tensor numbers_for_masks(const Shape& shape, int seed, DType dtype, float shift = 0) {
  std::vector<float> values(static_cast<std::size_t>(shape.num_elements()));
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>((i * 7919 + static_cast<std::size_t>(seed) * 104729) % 1009 % 5) - 2.0f + shift;
  }
  return ops::cast(Tensor::of(values, shape), dtype);
}

// A function as these of a GPU's passes leave it.
class MasksKept : public test::RewrittenGraph {
 public:
  MasksKept(const Tensors& arguments, const Body& body) : RewrittenGraph(arguments, body, rewrite, DType::BFloat16) {}

 private:
  static void rewrite(Graph& graph) {
    passes::fold(graph);
    passes::fuse_epilogues(graph);
    passes::keep_relu_masks(graph);
  }
};

// Two layers, the first with a relu: what flows to its weight and bias, given inputs, weight, bias, the next weight and
// what flows back.
Tensors gradients_below(const Tensors& in) {
  GradientTape tape;
  tape.watch(in[1]);
  tape.watch(in[2]);
  const Tensor hidden = ops::relu(ops::matmul(in[0], in[1]) + in[2]);
  const Gradients g = tape.gradient(ops::matmul(hidden, in[3]), std::vector<Tensor>{in[1], in[2]}, in[4]);
  return {g[0], g[1]};
}
Tensors two_layers(std::int64_t rows, std::int64_t columns, DType dtype) {
  return {numbers_for_masks({rows, 16}, 1, dtype), numbers_for_masks({16, columns}, 2, dtype),
          numbers_for_masks({columns}, 3, dtype, 0.5f), numbers_for_masks({columns, 8}, 4, dtype),
          numbers_for_masks({rows, 8}, 5, dtype)};
}

TEST(KeepReluMasks, AreReadInPlaceOfWhatCameOut) {
  for (const DType dtype : {DType::BFloat16, DType::Float16}) {
    SCOPED_TRACE(to_string(dtype));
    const MasksKept kept(two_layers(1024, 256, dtype), gradients_below);
    EXPECT_EQ(kept.count("MaskedMatMul"), 1) << kept.graph().to_string();
    EXPECT_EQ(kept.count("MatMulReluGrad"), 1);
    EXPECT_EQ(kept.count("ReluGrad"), 0);
    const bool on_a_gpu = default_device().kernel_type() == kGPU;
    EXPECT_EQ(kept.count_compiled("MatMulReluGrad"), on_a_gpu ? 1 : 0);
  }
}

TEST(KeepReluMasks, TakeRowsOfSeveralAxes) {
  Tensors arguments = two_layers(1024, 256, DType::BFloat16);
  arguments[0] = ops::reshape(arguments[0], {4, 256, 16});
  arguments[4] = ops::reshape(arguments[4], {4, 256, 8});
  const MasksKept kept(arguments, gradients_below);
  EXPECT_EQ(kept.count("MatMulReluGrad"), 1) << kept.graph().to_string();
}

TEST(KeepReluMasks, LeaveWhatIsSmallOrOfOtherTypesOrSizes) {
  for (const Tensors& arguments : {two_layers(512, 256, DType::BFloat16), two_layers(1024, 256, DType::Float32),
                                   two_layers(1024, 320, DType::BFloat16)}) {
    const MasksKept kept(arguments, gradients_below);
    EXPECT_EQ(kept.count("MaskedMatMul"), 0);
    EXPECT_EQ(kept.count("ReluGrad"), 1);
  }
}

TEST(KeepReluMasks, LeaveAFlowThatSomebodyElseReads) {
  const MasksKept kept(two_layers(1024, 256, DType::BFloat16), [](const Tensors& in) {
    GradientTape tape;
    tape.watch(in[1]);
    const Tensor hidden = ops::relu(ops::matmul(in[0], in[1]) + in[2]);
    const Tensor flow = ops::matmul(in[4], in[3], false, true);
    return Tensors{tape.gradient(hidden, std::vector<Tensor>{in[1]}, flow)[0], flow};
  });
  EXPECT_EQ(kept.count("MatMulReluGrad"), 0);
  EXPECT_EQ(kept.count("MaskedMatMul"), 0);
  EXPECT_EQ(kept.count("ReluGrad"), 1);
}

TEST(KeepReluMasks, LeaveAGradientThatIsFusedWithWhatFollows) {
  const MasksKept kept(two_layers(1024, 256, DType::BFloat16), [](const Tensors& in) {
    GradientTape tape;
    const Tensor sum = ops::matmul(in[0], in[1]) + in[2];
    tape.watch(sum);
    const Tensor flow = tape.gradient(ops::matmul(ops::relu(sum), in[3]), std::vector<Tensor>{sum}, in[4])[0];
    return Tensors{ops::tanh(flow)};
  });
  EXPECT_EQ(kept.count("MatMulReluGrad"), 0);
}

}  // namespace
}  // namespace cohort
