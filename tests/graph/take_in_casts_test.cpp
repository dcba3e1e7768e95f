#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "cohort/autodiff/tape.h"
#include "cohort/core/kernel.h"
#include "cohort/graph/executable.h"
#include "cohort/graph/trace.h"
#include "cohort/ops/ops.h"
#include "cohort/variables/variable.h"
#include "tests/support/same_products.h"

namespace cohort {
namespace {

const DType kHalfTypes[] = {DType::BFloat16, DType::Float16};

Tensor made_up(const Shape& shape, int seed) {
  std::vector<float> values(static_cast<std::size_t>(shape.num_elements()));
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>((i * 7919 + static_cast<std::size_t>(seed) * 104729) % 1009) / 504.0f - 1.0f;
  }
  return Tensor::of(values, shape);
}

using Values = std::vector<std::vector<float>>;

// What a function's graph is with and without the pass, and that both compute the same.
class Taken {
 public:
  Taken(const Tensors& arguments, const std::function<Tensors(const Tensors&)>& body) {
    Specs specs;
    for (const Tensor& argument : arguments) specs.push_back(argument.spec());
    traced_ = trace(specs, body);
    inputs_ = arguments;
    inputs_.insert(inputs_.end(), traced_.captures.begin(), traced_.captures.end());
    before_ = compile(false);
    after_ = compile(true);
    const Values after = run(*after_), before = run(*before_);
    for (std::size_t i = 0; i < before.size(); ++i) {
      test::expect_same_product(after.at(i), before[i], DType::BFloat16);
    }
  }

  int before(const std::string& op) const { return count(before_->graph(), op); }
  int after(const std::string& op) const { return count(after_->graph(), op); }
  // Types of the inputs and the first output of the first node of this op, once casts are taken in.
  std::vector<DType> types(const std::string& op) const {
    const Graph& graph = after_->graph();
    for (const Node& node : graph.nodes) {
      if (node.op->name() != op) continue;
      std::vector<DType> result;
      for (const Value& input : node.inputs) result.push_back(graph.spec(input).dtype);
      result.push_back(node.outputs[0].dtype);
      return result;
    }
    return {};
  }

 private:
  std::shared_ptr<Executable> compile(bool casts) const {
    Specs specs;
    for (const Tensor& input : inputs_) specs.push_back(input.spec());
    return cohort::compile(*traced_.graph, specs, default_device(), {.casts = casts});
  }
  Values run(Executable& executable) const {
    Tensors outputs(traced_.graph->outputs.size());
    executable.run(inputs_, outputs, {});
    Values values;
    for (const Tensor& output : outputs) values.push_back(ops::cast(output, DType::Float32).to_vector<float>());
    return values;
  }
  static int count(const Graph& graph, const std::string& op) {
    return static_cast<int>(
        std::count_if(graph.nodes.begin(), graph.nodes.end(), [&](const Node& node) { return node.op->name() == op; }));
  }

  TracedGraph traced_;
  Tensors inputs_;
  std::shared_ptr<Executable> before_, after_;
};

TEST(TakeInCasts, ALayersStepHasNoneLeft) {
  for (const DType half : kHalfTypes) {
    const Taken taken(
        {made_up({40, 70}, 1), made_up({70, 50}, 2), made_up({50}, 3), made_up({40, 50}, 4)},
        [half](const Tensors& in) {
          GradientTape tape;
          for (int i = 0; i < 3; ++i) tape.watch(in[static_cast<std::size_t>(i)]);
          const Tensor x = ops::cast(in[0], half), w = ops::cast(in[1], half), b = ops::cast(in[2], half);
          const Tensor y = ops::relu(ops::matmul(x, w) + b);
          const Gradients g = tape.gradient(y, std::vector<Tensor>{in[0], in[1], in[2]}, ops::cast(in[3], half));
          return Tensors{y, g[0], g[1], g[2]};
        });
    // Those of the layer and of what flows to it; what flows back is cast and masked in one elementwise node.
    EXPECT_EQ(taken.before("Cast"), 6) << half;
    const DType read = test::products_read_float32() ? DType::Float32 : half;
    EXPECT_EQ(taken.after("Cast"), read == half ? 3 : 0) << half;
    EXPECT_EQ(taken.after("MatMul"), 0) << half;
    EXPECT_EQ(taken.types("FusedMatMul"), (std::vector<DType>{read, read, read, half})) << half;
    if (test::products_read_float32()) {
      EXPECT_EQ(taken.types("SumToLike").back(), DType::Float32) << half;
    } else {  // made by the product for the weight
      EXPECT_EQ(taken.types("MatMulBiasGrad"), (std::vector<DType>{half, half, DType::Float32})) << half;
    }
  }
}

TEST(TakeInCasts, GoesThroughOtherShapes) {
  const Taken taken({made_up({6, 8, 12}, 1), made_up({3, 4, 10}, 2)}, [](const Tensors& in) {
    const Tensor w = ops::reshape(ops::cast(in[1], DType::BFloat16), {12, 10});
    const Tensor y = ops::matmul(ops::reshape(ops::cast(in[0], DType::BFloat16), {48, 12}), w);
    return Tensors{ops::cast(ops::reshape(y, {6, 8, 10}), DType::Float32)};
  });
  EXPECT_EQ(taken.before("Cast"), 3);
  EXPECT_EQ(taken.after("Cast"), test::products_read_float32() ? 0 : 2);
}

TEST(TakeInCasts, LeavesACastThatSomebodyElseReads) {
  const Taken taken({made_up({6, 8}, 1), made_up({8, 4}, 2)}, [](const Tensors& in) {
    const Tensor x = ops::cast(in[0], DType::BFloat16), y = ops::matmul(x, ops::cast(in[1], DType::BFloat16));
    return Tensors{ops::softmax(x), y, ops::cast(y, DType::Float32)};
  });
  EXPECT_EQ(taken.before("Cast"), 3);
  EXPECT_EQ(taken.after("Cast"), test::products_read_float32() ? 2 : 3);
}

TEST(TakeInCasts, LeavesOtherTypesAlone) {
  const Taken taken({made_up({6, 8}, 1), made_up({8, 4}, 2)}, [](const Tensors& in) {
    const Tensor y = ops::matmul(ops::cast(in[0], DType::Float64), ops::cast(in[1], DType::Float64));
    return Tensors{ops::cast(y, DType::Float32)};
  });
  EXPECT_EQ(taken.after("Cast"), 3);
}

TEST(TakeInCasts, ANormReadsAndWritesHalfTypes) {
  for (const DType half : kHalfTypes) {
    const Tensors arguments = {ops::cast(made_up({9, 33}, 1), half), made_up({33}, 2), made_up({33}, 3),
                               ops::cast(made_up({9, 33}, 4), half)};
    const Taken taken(arguments, [half](const Tensors& in) {
      GradientTape tape;
      for (int i = 0; i < 3; ++i) tape.watch(in[static_cast<std::size_t>(i)]);
      const Tensor y = ops::cast(ops::layer_norm(ops::cast(in[0], DType::Float32), in[1], in[2], 1e-3), half);
      const Gradients g = tape.gradient(y, std::vector<Tensor>{in[0], in[1], in[2]}, in[3]);
      return Tensors{y, g[0], g[1], g[2]};
    });
    EXPECT_EQ(taken.before("Cast"), 4) << half;
    EXPECT_EQ(taken.after("Cast"), 0) << half;
    EXPECT_EQ(taken.types("LayerNorm"), (std::vector<DType>{half, DType::Float32, DType::Float32, half}));
    EXPECT_EQ(taken.types("LayerNormGrad").back(), half);
  }
}

TEST(TakeInCasts, RowsOfATableAreGatheredInAHalfType) {
  const Tensor indices = Tensor::of(std::vector<std::int32_t>{4, 0, 4, 2, 1, 3}, {2, 3});
  for (const DType half : kHalfTypes) {
    for (const int axis : {0, 1}) {
      const Taken taken({made_up({5, 7}, 1), indices},
                        [=](const Tensors& in) { return Tensors{ops::cast(ops::take(in[0], in[1], axis), half)}; });
      EXPECT_EQ(taken.before("Cast"), 1);
      EXPECT_EQ(taken.after("Cast"), 0);
      EXPECT_EQ(taken.types("Gather").back(), half);
    }
  }
}

TEST(TakeInCasts, ACrossEntropyReadsHalfLogits) {
  const Tensor sparse = ops::cast(made_up({9}, 3) * 3.0 + 3.0, DType::Int32), dense = ops::softmax(made_up({9, 17}, 2));
  for (const DType half : kHalfTypes) {
    for (const bool one_number : {true, false}) {
      const Taken taken({ops::cast(made_up({9, 17}, 1) * 5.0, half), one_number ? sparse : dense},
                        [=](const Tensors& in) {
                          GradientTape tape;
                          tape.watch(in[0]);
                          const Tensor logits = ops::cast(in[0], DType::Float32);
                          const Tensor loss = one_number ? ops::sparse_softmax_cross_entropy(logits, in[1])
                                                         : ops::softmax_cross_entropy(logits, in[1]);
                          const Gradients g = tape.gradient(loss, std::vector<Tensor>{in[0]});
                          return Tensors{loss, g[0]};
                        });
      EXPECT_EQ(taken.before("Cast"), 2);
      EXPECT_EQ(taken.after("Cast"), 0);
      const std::string op = one_number ? "SparseSoftmaxCrossEntropy" : "SoftmaxCrossEntropy";
      if (default_device().kernel_type() == kGPU) {  // both in one
        const DType labels = one_number ? DType::Int32 : DType::Float32;
        EXPECT_EQ(taken.types(op + "AndGrad"), (std::vector{DType::Float32, half, labels, half}));
        continue;
      }
      EXPECT_EQ(taken.types(op).front(), half);
      EXPECT_EQ(taken.types(op).back(), DType::Float32);
      EXPECT_EQ(taken.types(op + "Grad").back(), half);
    }
  }
}

// The shape of a weight is all that its gradient's reshape asks for: the weight may be written over.
TEST(TakeInCasts, AWeightIsReadWhereItLies) {
  Variable weight(made_up({2, 3, 4}, 1));
  const Taken taken({made_up({5, 6}, 2)}, [&](const Tensors& in) {
    GradientTape tape;
    const Tensor w = ops::reshape(ops::cast(weight.value(), DType::BFloat16), {6, 4});
    const Tensor y = ops::matmul(ops::cast(in[0], DType::BFloat16), w);
    const Gradients g = tape.gradient(ops::cast(y, DType::Float32), Variables{weight});
    weight.assign_sub(Tensor(g[0]) * 0.0);
    return Tensors{y};
  });
  EXPECT_EQ(taken.after("CopyVariable"), 0);
  EXPECT_EQ(taken.after("ReadVariable"), 1);
  EXPECT_EQ(taken.after("Cast"), test::products_read_float32() ? 0 : 2);
}

}  // namespace
}  // namespace cohort
