#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
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
#include "cohort/variables/variable.h"
#include "tests/support/same_products.h"

namespace cohort {
namespace {

const std::string kSparseJoined = "SparseSoftmaxCrossEntropyAndGrad", kDenseJoined = "SoftmaxCrossEntropyAndGrad";
constexpr std::int64_t kSamples = 5, kKinds = 12;

Tensor spread_logits(DType dtype = DType::Float32) {
  std::vector<float> values(static_cast<std::size_t>(kSamples * kKinds));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i * 7919 % 101) / 16.0f - 3.0f;
  return ops::cast(Tensor::of(values, {kSamples, kKinds}), dtype);
}
Tensor class_numbers() { return Tensor::of(std::vector<std::int32_t>{3, 0, 11, 6, 6}, {kSamples}); }
// They do not sum to one.
Tensor class_weights() { return ops::softmax(spread_logits() * 0.25) * 1.5; }

// A function of logits and labels, as a GPU's passes leave it.
class LossesJoined {
 public:
  using Body = std::function<Tensors(const Tensor& logits, const Tensor& labels)>;

  LossesJoined(Tensors inputs, const Body& body) : inputs_(std::move(inputs)) {
    for (const Tensor& input : inputs_) specs_.push_back(input.spec());
    traced_ = trace(specs_, [&](const Tensors& in) { return body(in[0], in[1]); });
    for (const Tensor& capture : traced_.captures) {
      inputs_.push_back(capture);
      specs_.push_back(capture.spec());
    }
    graph_ = specialize(*traced_.graph, specs_);
    passes::fold(graph_);
    passes::eliminate_common_subexpressions(graph_);
    passes::take_in_casts(graph_, kGPU);
    passes::keep_row_statistics(graph_);
    passes::join_loss_gradients(graph_);
  }

  const Graph& graph() const { return graph_; }
  int count(const std::string& op) const {
    return static_cast<int>(std::count_if(graph_.nodes.begin(), graph_.nodes.end(),
                                          [&](const Node& node) { return node.op->name() == op; }));
  }
  // Of the default device.
  int count_compiled(const std::string& op) const {
    const auto executable = compile(*traced_.graph, specs_, default_device());
    return static_cast<int>(std::count_if(executable->graph().nodes.begin(), executable->graph().nodes.end(),
                                          [&](const Node& node) { return node.op->name() == op; }));
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
      EXPECT_GT(largest, 0.0f) << i;
      const double close = test::product_tolerance(inputs_[0].dtype()) * largest;
      for (std::size_t j = 0; j < a.size(); ++j) EXPECT_NEAR(a[j], b[j], close) << i << ", " << j;
    }
  }

 private:
  Tensors run(const Graph& graph, const PassOptions& passes) const {
    Tensors outputs(graph.outputs.size());
    compile(graph, specs_, default_device(), passes)->run(inputs_, outputs, {});
    return outputs;
  }
  static std::vector<float> numbers(const Tensor& tensor) {
    return ops::cast(tensor, DType::Float32).to_vector<float>();
  }

  Tensors inputs_;
  Specs specs_;
  TracedGraph traced_;
  Graph graph_;
};

Tensor losses_of(const Tensor& x, const Tensor& labels) {
  const Tensor logits = ops::cast(x, DType::Float32);
  return labels.dtype() == DType::Int32 ? ops::sparse_softmax_cross_entropy(logits, labels)
                                        : ops::softmax_cross_entropy(logits, labels);
}

// What `finish` makes of the losses, and what flows to the logits from there.
LossesJoined::Body with_gradient(const std::function<Tensor(const Tensor& losses)>& finish) {
  return [=](const Tensor& x, const Tensor& labels) {
    GradientTape tape;
    tape.watch(x);
    const Tensor loss = finish(losses_of(x, labels));
    return Tensors{loss, tape.gradient(loss, std::vector<Tensor>{x})[0]};
  };
}

Tensor mean_of(const Tensor& losses) { return ops::mean(losses); }

TEST(JoinLossGradients, OneNodeForBoth) {
  for (const DType stored : {DType::Float32, DType::BFloat16, DType::Float16}) {
    SCOPED_TRACE(to_string(stored));
    const LossesJoined sparse({spread_logits(stored), class_numbers()}, with_gradient(mean_of));
    EXPECT_EQ(sparse.count(kSparseJoined), 1) << sparse.graph().to_string();
    EXPECT_EQ(sparse.count("SparseSoftmaxCrossEntropyRows"), 0);
    EXPECT_EQ(sparse.count("SparseSoftmaxCrossEntropyRowsGrad"), 0);
    sparse.expect_same_results();

    const LossesJoined dense({spread_logits(stored), class_weights()}, with_gradient(mean_of));
    EXPECT_EQ(dense.count(kDenseJoined), 1) << dense.graph().to_string();
    EXPECT_EQ(dense.count("SoftmaxCrossEntropy"), 0);
    EXPECT_EQ(dense.count("SoftmaxCrossEntropyGrad"), 0);
    dense.expect_same_results();
  }
}

// Weights of samples, and the scale of a loss that would else vanish in a half type.
TEST(JoinLossGradients, WhatFlowsMayBeComputed) {
  Variable scale(Tensor::scalar(512.0));
  const Tensor weights = Tensor::of(std::vector<float>{1, 0, 2, 0.5f, 3}, {kSamples});
  const LossesJoined weighted(
      {spread_logits(DType::Float16), class_numbers()},
      with_gradient([&](const Tensor& losses) { return ops::mean(losses * ops::square(weights)) * scale.value(); }));
  EXPECT_EQ(weighted.count(kSparseJoined), 1) << weighted.graph().to_string();
  weighted.expect_same_results();
}

// A number for each of so many losses is no constant any more, and is spread out like the losses.
TEST(JoinLossGradients, WhatFlowsMayBeSpreadOut) {
  constexpr std::int64_t kMany = 70000;
  const LossesJoined many(
      {ops::tile(spread_logits(), {kMany / kSamples, 1}), ops::tile(class_numbers(), {kMany / kSamples})},
      with_gradient(mean_of));
  EXPECT_EQ(many.count(kSparseJoined), 1) << many.graph().to_string();
  many.expect_same_results();
}

TEST(JoinLossGradients, LeavesAFlowThatIsMadeOfTheLoss) {
  const LossesJoined squared({spread_logits(), class_numbers()},
                             with_gradient([](const Tensor& losses) { return ops::sum(ops::square(losses)); }));
  EXPECT_EQ(squared.count(kSparseJoined), 0);
  EXPECT_EQ(squared.count("SparseSoftmaxCrossEntropyRowsGrad"), 1);
  squared.expect_same_results();
}

// By way of a variable: the scale is known only when the loss was added to it.
TEST(JoinLossGradients, LeavesAFlowThatFollowsTheLoss) {
  Variable scale(Tensor::scalar(1.0));
  const LossesJoined followed({spread_logits(), class_numbers()}, [&](const Tensor& x, const Tensor& labels) {
    GradientTape tape;
    tape.watch(x);
    const Tensor losses = losses_of(x, labels);
    scale.assign(ops::mean(losses));
    const Tensor scaled = ops::sum(losses * scale.value());
    const Tensor dx = tape.gradient(scaled, std::vector<Tensor>{x})[0];
    return Tensors{dx};
  });
  EXPECT_EQ(followed.count(kSparseJoined), 0) << followed.graph().to_string();
  followed.expect_same_results();
}

TEST(JoinLossGradients, EachLossHasItsOwn) {
  const LossesJoined two({spread_logits(), class_numbers()}, [](const Tensor& x, const Tensor& labels) {
    GradientTape tape;
    tape.watch(x);
    const Tensor near = ops::mean(losses_of(x, labels)), far = ops::sum(losses_of(x * 2.0, labels));
    const Tensor loss = near + far;
    return Tensors{near, far, tape.gradient(loss, std::vector<Tensor>{x})[0]};
  });
  EXPECT_EQ(two.count(kSparseJoined), 2) << two.graph().to_string();
  two.expect_same_results();
}

TEST(JoinLossGradients, ALossAloneStays) {
  const LossesJoined alone({spread_logits(), class_numbers()},
                           [](const Tensor& x, const Tensor& labels) { return Tensors{losses_of(x, labels)}; });
  EXPECT_EQ(alone.count("SparseSoftmaxCrossEntropyRows"), 1);
  EXPECT_EQ(alone.count(kSparseJoined), 0);
  alone.expect_same_results();
}

TEST(JoinLossGradients, IsForGpusAlone) {
  const LossesJoined joined({spread_logits(), class_numbers()}, with_gradient(mean_of));
  EXPECT_EQ(joined.count_compiled(kSparseJoined), default_device().kernel_type() == kGPU ? 1 : 0);
}

// Whether the gradient lies where the logits did.
bool lies_on_logits(const Graph& graph, const std::string& op) {
  const passes::MemoryPlan plan = passes::plan_memory(graph, /*share=*/true);
  const auto place = [&](const Value& value) {
    return plan.locations[static_cast<std::size_t>(value.node)][static_cast<std::size_t>(value.output)];
  };
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    if (graph.nodes[i].op->name() != op) continue;
    const int at = static_cast<int>(i);
    const passes::Location gradient = place({at, 0}), loss = place({at, 1}), logits = place(graph.nodes[i].inputs[1]);
    EXPECT_EQ(gradient.kind, passes::Location::Kind::Arena);
    EXPECT_EQ(logits.kind, passes::Location::Kind::Arena);
    EXPECT_TRUE(loss.kind != passes::Location::Kind::Arena || loss.offset != gradient.offset);
    return gradient.offset == logits.offset;
  }
  ADD_FAILURE() << "no " << op;
  return false;
}

TEST(JoinLossGradients, TheGradientIsWrittenOverLogitsThatDieThere) {
  for (const DType stored : {DType::Float32, DType::BFloat16}) {
    for (const bool sparse : {true, false}) {
      for (const bool looks_later : {false, true}) {
        SCOPED_TRACE(std::string(to_string(stored)) + (sparse ? " sparse" : " dense") + (looks_later ? " later" : ""));
        const LossesJoined joined({spread_logits(stored), sparse ? class_numbers() : class_weights()},
                                  [=](const Tensor& x, const Tensor& labels) {
                                    GradientTape tape;
                                    tape.watch(x);
                                    const Tensor logits = ops::softplus(x);
                                    const Tensor loss = ops::mean(losses_of(logits, labels));
                                    const Tensor dx = tape.gradient(loss, std::vector<Tensor>{x})[0];
                                    return looks_later ? Tensors{loss, dx, ops::sum(logits * dx)} : Tensors{loss, dx};
                                  });
        EXPECT_EQ(lies_on_logits(joined.graph(), sparse ? kSparseJoined : kDenseJoined), !looks_later)
            << joined.graph().to_string();
        joined.expect_same_results();
      }
    }
  }
}

}  // namespace
}  // namespace cohort
