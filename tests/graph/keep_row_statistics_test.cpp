#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "cohort/autodiff/tape.h"
#include "cohort/core/dispatch.h"
#include "cohort/core/kernel.h"
#include "cohort/graph/executable.h"
#include "cohort/graph/passes/memory.h"
#include "cohort/graph/passes/pass.h"
#include "cohort/graph/specialize.h"
#include "cohort/graph/trace.h"
#include "cohort/ops/ops.h"
#include "tests/support/same_products.h"

namespace cohort {
namespace {

constexpr std::int64_t kRows = 6, kClasses = 40;
const Shape kLogits = {kRows, kClasses};

Tensor spread_out(const Shape& shape, int seed) {
  std::vector<float> values(static_cast<std::size_t>(shape.num_elements()));
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>((i * 7919 + static_cast<std::size_t>(seed) * 104729) % 1009) / 168.0f - 3.0f;
  }
  return Tensor::of(values, shape);
}

// A function of logits and labels, as a GPU's passes leave it.
class RowsKept {
 public:
  using Body = std::function<Tensors(const Tensor& logits, const Tensor& labels)>;

  explicit RowsKept(const Body& body, DType stored = DType::Float32) : stored_(stored) {
    inputs_ = {ops::cast(spread_out(kLogits, 1), stored),
               Tensor::of(std::vector<std::int32_t>{3, 0, 39, 20, 7, 8}, {kRows})};
    for (const Tensor& input : inputs_) specs_.push_back(input.spec());
    traced_ = trace(specs_, [&](const Tensors& in) { return body(in[0], in[1]); });
    graph_ = specialize(*traced_.graph, specs_);
    passes::take_in_casts(graph_, kGPU);
    passes::keep_row_statistics(graph_);
  }

  const Graph& graph() const { return graph_; }
  int count(const std::string& op) const { return count_in(graph_, op); }
  // In what all passes of the default device leave.
  int count_compiled(const std::string& op) const {
    return count_in(compile(*traced_.graph, specs_, default_device())->graph(), op);
  }
  const Node& node(const std::string& op) const {
    return *std::find_if(graph_.nodes.begin(), graph_.nodes.end(),
                         [&](const Node& each) { return each.op->name() == op; });
  }
  // That the graph computes what it computed before.
  void expect_same_results() const {
    const Tensors seen = run(graph_, {}), wanted = run(*traced_.graph, {.fuse = false, .casts = false});
    ASSERT_EQ(seen.size(), wanted.size());
    for (std::size_t i = 0; i < seen.size(); ++i) {
      ASSERT_EQ(seen[i].spec(), wanted[i].spec());
      const std::vector<float> a = numbers(seen[i]), b = numbers(wanted[i]);
      float largest = 0;
      for (float x : b) largest = std::max(largest, std::abs(x));
      const double close = test::product_tolerance(stored_) * largest;
      for (std::size_t j = 0; j < a.size(); ++j) EXPECT_NEAR(a[j], b[j], close) << i << ", " << j;
    }
  }

 private:
  static int count_in(const Graph& graph, const std::string& op) {
    return static_cast<int>(
        std::count_if(graph.nodes.begin(), graph.nodes.end(), [&](const Node& node) { return node.op->name() == op; }));
  }
  Tensors run(const Graph& graph, const PassOptions& passes) const {
    Tensors outputs(graph.outputs.size());
    compile(graph, specs_, default_device(), passes)->run(inputs_, outputs, {});
    return outputs;
  }
  static std::vector<float> numbers(const Tensor& tensor) {
    return ops::cast(tensor, DType::Float32).to_vector<float>();
  }

  DType stored_;
  Tensors inputs_;
  Specs specs_;
  TracedGraph traced_;
  Graph graph_;
};

// The loss and what flows to logits that are made of the input.
Tensors loss_and_gradient(const Tensor& x, const Tensor& labels) {
  GradientTape tape;
  tape.watch(x);
  const Tensor logits = ops::cast(x, DType::Float32);
  const Tensor loss = ops::mean(ops::sparse_softmax_cross_entropy(logits, labels));
  return {loss, tape.gradient(loss, std::vector<Tensor>{x})[0]};
}

TEST(KeepRowStatistics, KeepsANumberForEachRow) {
  for (const DType stored : {DType::Float32, DType::BFloat16, DType::Float16}) {
    SCOPED_TRACE(to_string(stored));
    const RowsKept kept(loss_and_gradient, stored);
    EXPECT_EQ(kept.count("SparseSoftmaxCrossEntropy"), 0);
    EXPECT_EQ(kept.count("SparseSoftmaxCrossEntropyGrad"), 0);
    EXPECT_EQ(kept.node("SparseSoftmaxCrossEntropyRows").outputs[1], (TensorSpec{DType::Float32, {kRows}}));
    for (const Node& node : kept.graph().nodes) {
      for (const TensorSpec& output : node.outputs) {
        EXPECT_TRUE(output.shape != kLogits || output.dtype == stored) << node.op->name();
      }
    }
    kept.expect_same_results();
  }
}

TEST(KeepRowStatistics, ServesHalfTypesThatAreComputedInAsWell) {
  const RowsKept kept(
      [](const Tensor& x, const Tensor& labels) {
        GradientTape tape;
        tape.watch(x);
        const Tensor loss = ops::sparse_softmax_cross_entropy(x, labels);
        return Tensors{loss, tape.gradient(loss, std::vector<Tensor>{x})[0]};
      },
      DType::BFloat16);
  EXPECT_EQ(kept.count("SparseSoftmaxCrossEntropyRowsGrad"), 1);
  kept.expect_same_results();
}

TEST(KeepRowStatistics, KeepsNothingForALossAlone) {
  const RowsKept kept(
      [](const Tensor& x, const Tensor& labels) { return Tensors{ops::sparse_softmax_cross_entropy(x, labels)}; });
  EXPECT_EQ(kept.count("SparseSoftmaxCrossEntropyRows"), 1);
  kept.expect_same_results();
}

TEST(KeepRowStatistics, LeavesASoftmaxThatSomebodyElseReads) {
  const auto losses = [](const Tensor& x, const Tensor& labels) {
    return run_op_all("SparseSoftmaxCrossEntropy", {x, labels});
  };
  const RowsKept left_the_graph(losses);
  EXPECT_EQ(left_the_graph.count("SparseSoftmaxCrossEntropy"), 1);
  left_the_graph.expect_same_results();

  const RowsKept read([&](const Tensor& x, const Tensor& labels) {
    GradientTape tape;
    tape.watch(x);
    const Tensors both = losses(x, labels);
    const Tensor entropy = ops::sum(both[1] * ops::log(both[1]), -1);
    return Tensors{tape.gradient(both[0], std::vector<Tensor>{x})[0], entropy};
  });
  EXPECT_EQ(read.count("SparseSoftmaxCrossEntropy"), 1);
  EXPECT_EQ(read.count("SparseSoftmaxCrossEntropyGrad"), 1);
  read.expect_same_results();
}

TEST(KeepRowStatistics, IsForGpusAlone) {
  // What flows is made of the loss: they are not joined.
  const RowsKept kept(
      [](const Tensor& x, const Tensor& labels) {
        GradientTape tape;
        tape.watch(x);
        const Tensor loss = ops::square(ops::sparse_softmax_cross_entropy(ops::cast(x, DType::Float32), labels));
        return Tensors{loss, tape.gradient(loss, std::vector<Tensor>{x})[0]};
      },
      DType::BFloat16);
  const bool on_a_gpu = default_device().kernel_type() == kGPU;
  EXPECT_EQ(kept.count_compiled("SparseSoftmaxCrossEntropyGrad"), on_a_gpu ? 0 : 1);
  EXPECT_EQ(kept.count_compiled("SparseSoftmaxCrossEntropyRowsGrad"), on_a_gpu ? 1 : 0);
}

// Where the gradient of a planned graph lies, seen from the logits.
bool gradient_lies_on_logits(const Graph& graph) {
  const passes::MemoryPlan plan = passes::plan_memory(graph, /*share=*/true);
  const auto place = [&](const Value& value) {
    return plan.locations[static_cast<std::size_t>(value.node)][static_cast<std::size_t>(value.output)];
  };
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    if (graph.nodes[i].op->name() != "SparseSoftmaxCrossEntropyRowsGrad") continue;
    const passes::Location gradient = place({static_cast<int>(i), 0}), logits = place(graph.nodes[i].inputs[1]);
    EXPECT_EQ(gradient.kind, passes::Location::Kind::Arena);
    EXPECT_EQ(logits.kind, passes::Location::Kind::Arena);
    return gradient.offset == logits.offset;
  }
  ADD_FAILURE() << "no gradient in the graph";
  return false;
}

// Logits that are made in the graph, and what flows to what they are made of.
Tensors through_a_softplus(const Tensor& x, const Tensor& labels, bool look_at_logits_later) {
  GradientTape tape;
  tape.watch(x);
  const Tensor logits = ops::softplus(x);
  const Tensor loss = ops::sparse_softmax_cross_entropy(ops::cast(logits, DType::Float32), labels);
  const Tensor dx = tape.gradient(loss, std::vector<Tensor>{x})[0];
  if (look_at_logits_later) return {loss, dx, ops::sum(logits * dx)};
  return {loss, dx};
}

TEST(KeepRowStatistics, TheGradientIsWrittenOverLogitsThatDieThere) {
  for (const DType stored : {DType::Float32, DType::BFloat16}) {
    SCOPED_TRACE(to_string(stored));
    const RowsKept dying([](const Tensor& x, const Tensor& labels) { return through_a_softplus(x, labels, false); },
                         stored);
    EXPECT_TRUE(gradient_lies_on_logits(dying.graph())) << dying.graph().to_string();
    dying.expect_same_results();

    const RowsKept living([](const Tensor& x, const Tensor& labels) { return through_a_softplus(x, labels, true); },
                          stored);
    EXPECT_FALSE(gradient_lies_on_logits(living.graph())) << living.graph().to_string();
    living.expect_same_results();
  }
}

}  // namespace
}  // namespace cohort
