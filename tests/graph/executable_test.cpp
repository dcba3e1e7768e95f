#include "cohort/graph/executable.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "cohort/autodiff/tape.h"
#include "cohort/graph/trace.h"
#include "cohort/ops/array.h"
#include "cohort/ops/conv.h"
#include "cohort/ops/creation.h"
#include "cohort/ops/indexing.h"
#include "cohort/ops/joining.h"
#include "cohort/ops/math.h"
#include "cohort/ops/matmul.h"
#include "cohort/ops/pooling.h"
#include "cohort/ops/random_ops.h"
#include "cohort/ops/reduce.h"
#include "cohort/ops/slicing.h"
#include "cohort/variables/variable.h"
#include "tests/support/same_products.h"

namespace cohort {
namespace {

std::vector<std::string> op_names(const Graph& graph) {
  std::vector<std::string> names;
  for (const Node& node : graph.nodes) {
    if (node.op->name() != "Input" && node.op->name() != "Constant") names.push_back(node.op->name());
  }
  return names;
}

int count(const Graph& graph, const std::string& op) {
  const auto names = op_names(graph);
  return static_cast<int>(std::count(names.begin(), names.end(), op));
}

Tensor numbers(const Shape& shape, int seed = 1) {
  std::vector<float> values(static_cast<std::size_t>(shape.num_elements()));
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>((i * 7919 + static_cast<std::size_t>(seed) * 104729) % 1000) / 500.0f - 1.0f;
  }
  return Tensor::of(values, shape);
}

struct Case {
  TracedGraph traced;
  Tensors inputs;
  std::shared_ptr<Executable> compile(PassOptions passes = {}) const {
    Specs specs;
    for (const Tensor& input : inputs) specs.push_back(input.spec());
    return cohort::compile(*traced.graph, specs, default_device(), passes);
  }
  std::vector<std::vector<float>> run(PassOptions passes = {}) const {
    Tensors outputs(traced.graph->outputs.size());
    compile(passes)->run(inputs, outputs, {});
    std::vector<std::vector<float>> values;
    for (const Tensor& output : outputs) values.push_back(output.to_vector<float>());
    return values;
  }
};

Case make_case(const Tensors& arguments, const std::function<Tensors(const Tensors&)>& body) {
  Specs specs;
  for (const Tensor& argument : arguments) {
    TensorSpec spec = argument.spec();
    if (spec.shape.rank() > 0) spec.shape[0] = kUnknown;
    specs.push_back(spec);
  }
  Case result{trace(specs, body), arguments};
  result.inputs.insert(result.inputs.end(), result.traced.captures.begin(), result.traced.captures.end());
  return result;
}

// A layer, a loss and its gradient: something for every pass.
Case layer_case() {
  const Tensor w = numbers({20, 8}, 2), b = numbers({8}, 3);
  return make_case({numbers({16, 20}), numbers({16, 8}, 4)}, [=](const Tensors& in) {
    GradientTape tape;
    tape.watch(w);
    tape.watch(b);
    const Tensor y = ops::relu(ops::matmul(in[0], w) + b);
    const Tensor loss = ops::mean(ops::square(y - in[1]) * 1.0 + ops::exp(y) * 0.1);
    const Gradients g = tape.gradient(loss, std::vector<Tensor>{w, b});
    return Tensors{loss, g[0], g[1]};
  });
}

TEST(Passes, EachKeepsTheResultBitForBit) {
  const Case c = layer_case();
  const PassOptions none{false, false, false, false, false, false, false};
  const auto plain = c.run(none);
  const auto expect_plain = [&](const PassOptions& passes) {
    const auto seen = c.run(passes);
    ASSERT_EQ(seen.size(), plain.size());
    for (std::size_t i = 0; i < seen.size(); ++i) test::expect_same_product(seen[i], plain[i], DType::Float32);
  };
  expect_plain({});
  expect_plain({.fold = false});
  expect_plain({.cse = false});
  expect_plain({.fuse = false});
  expect_plain({.layout = false});
  expect_plain({.casts = false});
  expect_plain({.schedule = false});
  expect_plain({.memory = false});
}

TEST(Passes, FusePutsBiasAndActivationIntoTheMatmul) {
  const Case c = layer_case();
  EXPECT_EQ(count(c.compile()->graph(), "FusedMatMul"), 1);
  EXPECT_EQ(count(c.compile()->graph(), "Relu"), 0);
  EXPECT_EQ(count(c.compile({.fuse = false})->graph(), "FusedMatMul"), 0);
}

TEST(Passes, FusePutsBiasAndActivationIntoTheConvolution) {
  const Case c = make_case({numbers({2, 5, 5, 3}), numbers({2, 2, 3, 4}), numbers({4})},
                           [](const Tensors& in) { return Tensors{ops::relu(ops::conv(in[0], in[1]) + in[2])}; });
  EXPECT_EQ(op_names(c.compile()->graph()), (std::vector<std::string>{"FusedConv"}));
  EXPECT_EQ(c.run(), c.run({.fuse = false}));
}

TEST(Passes, FuseMasksARelusGradientBeforeItIsUnpooled) {
  for (const std::int64_t stride : {2, 1}) {
    const Case c = make_case({numbers({2, 6, 5, 3})}, [=](const Tensors& in) {
      GradientTape tape;
      tape.watch(in[0]);
      const Tensor pooled = ops::max_pool(ops::relu(in[0]), {2, 2}, {.strides = {stride, stride}});
      return Tensors{tape.gradient(ops::sum(pooled * pooled), std::vector<Tensor>{in[0]})[0].dense()};
    });
    EXPECT_EQ(op_names(c.compile()->graph()).back(), "MaxPoolGrad");
    EXPECT_NE(op_names(c.compile({.fuse = false})->graph()).back(), "MaxPoolGrad");
    EXPECT_EQ(c.run(), c.run({.fuse = false}));
  }
}

TEST(Passes, FuseGroupsElementwiseOps) {
  const Case c = make_case({numbers({30, 5}), numbers({5})}, [](const Tensors& in) {
    const Tensor a = ops::exp(in[0]) + in[1];
    return Tensors{ops::tanh(a) * a, a};
  });
  EXPECT_EQ(op_names(c.compile()->graph()), (std::vector<std::string>{"FusedElementwise"}));
  EXPECT_EQ(c.run(), c.run({.fuse = false}));
}

TEST(Passes, FuseMakesNoCycle) {
  // The sum stands between two elementwise ops of one shape: they must stay apart.
  const Case c = make_case({numbers({4, 4})}, [](const Tensors& in) {
    const Tensor a = ops::exp(in[0]);
    return Tensors{a - ops::sum(a, {1}, true)};
  });
  EXPECT_EQ(c.run(), c.run({.fuse = false}));
  EXPECT_EQ(count(c.compile()->graph(), "Sum"), 1);
}

TEST(Passes, FoldEvaluatesConstantsAndDropsWhatDoesNothing) {
  const Case c = make_case({numbers({4, 4})}, [](const Tensors& in) {
    const Tensor two = Tensor::scalar(1.0) + Tensor::scalar(1.0);
    return Tensors{ops::reshape(in[0] * two * 1.0, {-1, 4}) * ops::ones_like(two)};
  });
  EXPECT_EQ(op_names(c.compile()->graph()), (std::vector<std::string>{"Multiply"}));
  EXPECT_GT(op_names(c.compile({.fold = false, .fuse = false})->graph()).size(), 1u);
}

TEST(Passes, CseComputesTheSameOnce) {
  const Case c = make_case({numbers({4, 4})}, [](const Tensors& in) {
    return Tensors{ops::sum(ops::exp(in[0])), ops::sum(ops::exp(in[0]))};
  });
  EXPECT_EQ(count(c.compile()->graph(), "Exp"), 1);
  EXPECT_EQ(count(c.compile({.cse = false})->graph(), "Exp"), 2);
}

TEST(Passes, CseKeepsRandomDrawsAndReadsAroundWritesApart) {
  const Case random = make_case({numbers({4})}, [](const Tensors&) {
    const Tensor a = ops::random_uniform({8}, 0, 1, float32, 5), b = ops::random_uniform({8}, 0, 1, float32, 5);
    return Tensors{a, b};
  });
  EXPECT_EQ(count(random.compile()->graph(), "RandomUniform"), 2);

  Variable v(Tensor::scalar(1.0), {.name = "v"});
  const Case reads = make_case({numbers({4})}, [&](const Tensors&) {
    const Tensor before = ops::exp(v.value());
    v.assign_add(Tensor::scalar(1.0));
    return Tensors{before, ops::exp(v.value())};
  });
  const auto values = reads.run();
  EXPECT_FLOAT_EQ(values[0][0], std::exp(1.0f));
  EXPECT_FLOAT_EQ(values[1][0], std::exp(2.0f));
}

TEST(Passes, LayoutFoldsTransposesIntoMatmuls) {
  const Case c = make_case({numbers({6, 3}), numbers({5, 6}, 2)}, [](const Tensors& in) {
    return Tensors{ops::matmul(ops::transpose(in[0]), ops::transpose(in[1]))};
  });
  EXPECT_EQ(op_names(c.compile()->graph()), (std::vector<std::string>{"MatMul"}));
  test::expect_same_product(c.run()[0], c.run({.layout = false})[0], DType::Float32);
}

// Only the shape of the weight counts for the reshape of its gradient, which outlives a write.
TEST(Passes, AVariableWhoseShapeAloneIsAskedForIsNotCopied) {
  Variable weight(numbers({2, 3, 4}));
  const Case c = make_case({numbers({5, 6}, 2)}, [&](const Tensors& in) {
    GradientTape tape;
    const Tensor y = ops::matmul(in[0], ops::reshape(weight.value(), {6, 4}));
    const Gradients g = tape.gradient(y, Variables{weight});
    weight.assign_sub(g[0]);
    return Tensors{y, g[0]};
  });
  EXPECT_EQ(count(c.compile()->graph(), "ReshapeLike"), 1);
  EXPECT_EQ(count(c.compile()->graph(), "CopyVariable"), 0);
}

TEST(Passes, MemorySharesWhatDoesNotLiveAtOnce) {
  const Case c = make_case({numbers({64, 64})}, [](const Tensors& in) {
    Tensor x = in[0];
    for (int i = 0; i < 6; ++i) x = ops::matmul(x, in[0]);
    return Tensors{ops::sum(x)};
  });
  EXPECT_EQ(c.run(), c.run({.memory = false}));
  EXPECT_LE(c.compile()->arena_bytes(), 2 * 64 * 64 * sizeof(float) + 256);
  EXPECT_GE(c.compile({.memory = false})->arena_bytes(), 6 * 64 * 64 * sizeof(float));
}

TEST(Executable, ShapesThatDependOnValues) {
  const Case c = make_case({Tensor::of<float>({1, -2, 3, -4}, {4})}, [](const Tensors& in) {
    return Tensors{ops::boolean_mask(in[0], ops::greater(in[0], Tensor::scalar(0))) * 2.0};
  });
  EXPECT_EQ(c.run()[0], (std::vector<float>{2, 6}));
}

TEST(Executable, OutputsThatAreInputsConstantsOrVariables) {
  Variable v(numbers({3}), {.name = "v"});
  const Tensor constant = numbers({2}, 9);
  const Case c = make_case({numbers({4})}, [&](const Tensors& in) {
    return Tensors{in[0], constant, v.value(), in[0], ops::reshape(in[0], {2, 2})};
  });
  const auto values = c.run();
  EXPECT_EQ(values[0], numbers({4}).to_vector<float>());
  EXPECT_EQ(values[1], constant.to_vector<float>());
  EXPECT_EQ(values[2], numbers({3}).to_vector<float>());
  EXPECT_EQ(values[3], values[0]);
  EXPECT_EQ(values[4], values[0]);
}

TEST(Executable, AKernelsErrorLeavesItUsable) {
  const Case c = make_case({Tensor::of<std::int32_t>({0, 9}, {2})}, [](const Tensors& in) {
    return Tensors{ops::gather(numbers({3, 2}), in[0])};
  });
  auto executable = c.compile();
  Tensors outputs(1);
  auto run_and_wait = [&] {
    executable->run(c.inputs, outputs, {});
    default_device().synchronize();
  };
  EXPECT_THROW(run_and_wait(), Error);
  const Tensors good{Tensor::of<std::int32_t>({0, 2}, {2})};
  executable->run(good, outputs, {});
  EXPECT_EQ(outputs[0].shape(), (Shape{2, 2}));
}

TEST(ExecutableCache, SpecialisesPerShapeAndForgetsTheOldest) {
  const TracedGraph traced = trace({{float32, {kUnknown}}}, [](const Tensors& in) { return Tensors{ops::sum(in[0])}; });
  ExecutableCache cache(traced.graph);
  for (int n = 1; n <= 40; ++n) {
    Tensors out(1);
    const Tensors in{Tensor::full({n}, 2.0)};
    cache.run(in, out, {});
    EXPECT_EQ(out[0].item<float>(), 2.0f * static_cast<float>(n));
  }
}

// What was put together only to be cut again at the seams is never put together.
TEST(Passes, FoldTakesSlicesFromThePartsOfAConcatenation) {
  const Case joined = make_case({numbers({4, 3}), numbers({2, 3}, 2)}, [](const Tensors& in) {
    const Tensor whole = ops::concatenate({in[0] * 2.0, in[1] * 3.0}, 0);
    return Tensors{ops::slice(whole, {0, 0}, {4, 3}), ops::slice(whole, {4, 0}, {2, -1})};
  });
  EXPECT_EQ(count(joined.compile()->graph(), "Concat"), 0);
  EXPECT_EQ(count(joined.compile()->graph(), "Slice"), 0);
  EXPECT_EQ(count(joined.compile({.fold = false})->graph(), "Slice"), 2);
  EXPECT_EQ(joined.run(), joined.run({.fold = false}));

  const Case across = make_case({numbers({2, 3}), numbers({2, 3}, 2)}, [](const Tensors& in) {
    const Tensor rows = ops::concatenate({in[0] * 2.0, in[1] * 3.0}, 0);
    const Tensor columns = ops::concatenate({in[0] * 2.0, in[1] * 3.0}, -1);
    return Tensors{ops::slice(rows, {1, 0}, {2, 3}), ops::slice(rows, {2, 1}, {2, 2}),
                   ops::slice(columns, {0, 3}, {2, 3}), ops::slice(columns, {0, 2}, {2, 3})};
  });
  EXPECT_EQ(count(across.compile()->graph(), "Slice"), 3) << "only the third takes a part exactly";
  EXPECT_EQ(across.run(), across.run({.fold = false}));
}

}  // namespace
}  // namespace cohort
