#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "cohort/autodiff/tape.h"
#include "cohort/core/dispatch.h"
#include "cohort/core/joined_steps.h"
#include "cohort/core/kernel.h"
#include "cohort/core/update_layout.h"
#include "cohort/graph/passes/pass.h"
#include "cohort/graph/planned_executable.h"
#include "cohort/graph/specialize.h"
#include "cohort/graph/trace.h"
#include "cohort/ops/ops.h"
#include "cohort/optimizers/optimizers.h"
#include "cohort/variables/variable.h"
#include "tests/support/error_of.h"

namespace cohort {
namespace {

const std::string kJoinedSteps = "JoinedSteps";

Tensor strewn(const Shape& shape, int seed, double scale = 1) {
  std::vector<float> values(static_cast<std::size_t>(shape.num_elements()));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto place = (i * 7919 + static_cast<std::size_t>(seed) * 104729) % 1009;
    values[i] = static_cast<float>(scale * (static_cast<double>(place) / 504.0 - 1));
  }
  return Tensor::of(values, shape);
}

// A function of tensors that changes variables, as a GPU's passes leave it, with small steps joined and without.
class SmallStepsJoined {
 public:
  using Body = std::function<Tensors(const Tensors&)>;

  SmallStepsJoined(Variables variables, Tensors inputs, const Body& body)
      : variables_(std::move(variables)), inputs_(std::move(inputs)) {
    for (const Tensor& input : inputs_) specs_.push_back(input.spec());
    TracedGraph traced = trace(specs_, body);
    for (const Tensor& capture : traced.captures) {
      inputs_.push_back(capture);
      specs_.push_back(capture.spec());
    }
    apart_ = specialize(*traced.graph, specs_);
    passes::fold(apart_);
    passes::eliminate_common_subexpressions(apart_);
    passes::layout(apart_);
    passes::fuse_epilogues(apart_);
    passes::keep_row_statistics(apart_);
    passes::join_loss_gradients(apart_);
    passes::fuse_bias_gradients(apart_);
    passes::copy_reads_that_outlive_writes(apart_);
    passes::join_additions(apart_);
    passes::schedule(apart_);
    joined_ = apart_;
    passes::join_small_steps(joined_);
  }

  // Kernels that run.
  static int kernels(const Graph& graph) {
    return static_cast<int>(std::count_if(graph.nodes.begin(), graph.nodes.end(), [](const Node& node) {
      return node.op->name() != "Input" && node.op->name() != "Constant" && !node.op->is_alias();
    }));
  }
  const Graph& joined() const { return joined_; }
  const Graph& apart() const { return apart_; }
  int count(const std::string& op) const {
    return static_cast<int>(std::count_if(joined_.nodes.begin(), joined_.nodes.end(),
                                          [&](const Node& node) { return node.op->name() == op; }));
  }

  // That several runs give the same results and leave the same in the variables.
  void expect_same() const {
    const std::vector<Tensors> seen = run(joined_), wanted = run(apart_);
    ASSERT_EQ(seen.size(), wanted.size());
    for (std::size_t i = 0; i < seen.size(); ++i) {
      for (std::size_t j = 0; j < seen[i].size(); ++j) {
        const std::vector<double> a = numbers(seen[i][j]), b = numbers(wanted[i][j]);
        ASSERT_EQ(a.size(), b.size());
        for (std::size_t k = 0; k < a.size(); ++k) {
          EXPECT_NEAR(a[k], b[k], 1e-5 * std::max(1.0, std::abs(b[k]))) << i << ", " << j << ", " << k;
        }
      }
    }
  }

 private:
  static std::vector<double> numbers(const Tensor& tensor) {
    return ops::cast(tensor, DType::Float64).to_vector<double>();
  }
  // The outputs of three runs, then the variables, which begin as they were.
  std::vector<Tensors> run(const Graph& graph) const {
    Tensors before;
    for (const Variable& variable : variables_) before.push_back(variable.value().clone());
    // As it is: compile() would copy what a node reads of a variable that it writes to.
    PlannedExecutable executable(graph, default_device(), /*share_memory=*/true);
    std::vector<Tensors> all;
    for (int i = 0; i < 3; ++i) {
      Tensors outputs(graph.outputs.size());
      executable.run(inputs_, outputs, {});
      all.push_back(outputs);
    }
    Tensors& after = all.emplace_back();
    for (std::size_t i = 0; i < variables_.size(); ++i) {
      after.push_back(variables_[i].value().clone());
      EXPECT_NE(numbers(after.back()), numbers(before[i])) << "variable " << i << " stood still";
      Variable(variables_[i]).assign(before[i]);
    }
    return all;
  }

  Variables variables_;
  Tensors inputs_;
  Specs specs_;
  Graph apart_, joined_;
};

constexpr std::int64_t kBatch = 24, kFeatures = 7, kOutputs = 5;

// A step of training: a dense layer, its loss, the update of its weights, counters.
struct SmallTraining {
  Variable kernel{strewn({kFeatures, kOutputs}, 1)}, bias{strewn({kOutputs}, 2)};
  Variable kernel_slot{strewn({kFeatures, kOutputs}, 3)}, bias_slot{strewn({kOutputs}, 4)};
  Variable rate{Tensor::scalar(0.05)}, total{Tensor::scalar(0.0)},
      steps{Tensor::scalar(std::int64_t{0}, int64), {.dtype = int64}};

  Variables changing() const { return {kernel, bias, kernel_slot, bias_slot, total, steps}; }
  static Tensors batch(bool sparse) {
    const Tensor x = strewn({kBatch, kFeatures}, 5, 2);
    const Tensor numbers = ops::cast(ops::abs(strewn({kBatch}, 6, 4.9)), int32);
    return {x, sparse ? numbers : ops::softmax(strewn({kBatch, kOutputs}, 7)) * 1.25};
  }
  Tensors operator()(const Tensors& in) {
    GradientTape tape;
    const Tensor logits = ops::matmul(in[0], kernel.value()) + bias.value();
    const Tensor losses = in[1].dtype() == int32 ? ops::sparse_softmax_cross_entropy(logits, in[1])
                                                 : ops::softmax_cross_entropy(logits, in[1]);
    const Tensor loss = ops::mean(losses);
    const Gradients g = tape.gradient(loss, Variables{kernel, bias});
    const auto update = [&](const Variable& variable, const Variable& slot, const Tensor& gradient) {
      Attributes attributes = UpdateLayout::attributes(1, false);
      attributes.set("momentum", AttributeValue(0.9));
      run_op_all("MomentumUpdate", {variable.handle(), slot.handle(), gradient, rate.value()}, attributes);
    };
    update(kernel, kernel_slot, g[0]);
    update(bias, bias_slot, g[1]);
    total.assign_add(loss * 2.0);
    steps.assign_add(Tensor::scalar(std::int64_t{1}, int64));
    return {};
  }
};

TEST(JoinSmallSteps, AStepOfTrainingIsOne) {
  for (const bool sparse : {true, false}) {
    SCOPED_TRACE(sparse);
    SmallTraining training;
    const SmallStepsJoined joined(training.changing(), SmallTraining::batch(sparse), std::ref(training));
    EXPECT_EQ(SmallStepsJoined::kernels(joined.apart()), 5) << joined.apart().to_string();
    EXPECT_EQ(SmallStepsJoined::kernels(joined.joined()), 1) << joined.joined().to_string();
    EXPECT_EQ(joined.count(kJoinedSteps), 1);
    joined.expect_same();
  }
}

// All that a GPU can do in such a node, with outputs that leave the graph.
TEST(JoinSmallSteps, ResultsLeaveTheGraph) {
  Variable w(strewn({6, 6}, 1)), m(strewn({6, 6}, 2)), v(ops::square(strewn({6, 6}, 3)) + 0.1);
  Variable rate{Tensor::scalar(0.01)}, iterations{Tensor::scalar(std::int64_t{3}, int64), {.dtype = int64}};
  Variable norm{Tensor::scalar(0.0)};
  const SmallStepsJoined joined({w, m, v, iterations, norm}, {strewn({9, 6}, 4)}, [&](const Tensors& in) -> Tensors {
    const Tensor y = ops::relu(ops::matmul(in[0], w.value(), false, true) + strewn({6}, 5));
    const Tensor g = ops::matmul(in[0], y, true);
    run_op_all("AdamUpdate", {w.handle(), m.handle(), v.handle(), g, rate.value(), iterations.value()},
               UpdateLayout::attributes(2, false));
    // Read by the update before.
    iterations.assign_add(Tensor::scalar(std::int64_t{1}, int64));
    norm.assign_sub(ops::sum(g));
    return {y, ops::matmul(y, g)};
  });
  EXPECT_EQ(SmallStepsJoined::kernels(joined.joined()), 1) << joined.joined().to_string();
  joined.expect_same();
}

TEST(JoinSmallSteps, WhatIsLargeOrOfAnotherKindStaysApart) {
  Variable total(Tensor::scalar(0.0));
  const SmallStepsJoined mixed({total}, {strewn({8, 8}, 1), strewn({80, 80}, 2)}, [&](const Tensors& in) -> Tensors {
    const Tensor small = ops::matmul(in[0], in[0]);
    const Tensor sorted = ops::sort(small);
    const Tensor large = ops::matmul(in[1], in[1]);
    const Tensor again = ops::matmul(sorted, sorted), more = ops::matmul(again, small);
    total.assign_add(ops::sum(more));
    return {large};
  });
  // The last two products and the addition follow each other.
  EXPECT_EQ(mixed.count("Sort") + mixed.count("SortPairs"), 1) << mixed.joined().to_string();
  EXPECT_EQ(mixed.count("MatMul"), 2) << mixed.joined().to_string();
  EXPECT_EQ(mixed.count(kJoinedSteps), 1);
  mixed.expect_same();
}

// Another shape of what a step makes is looked at before the next one.
TEST(JoinSmallSteps, ShapesInBetween) {
  const SmallStepsJoined shaped({}, {strewn({4, 6}, 1), strewn({6, 4}, 2)}, [](const Tensors& in) -> Tensors {
    const Tensor a = ops::matmul(in[0], in[1]), b = ops::matmul(ops::reshape(a, {2, 8}), ops::reshape(in[0], {8, 3}));
    return {ops::matmul(ops::reshape(b, {3, 2}), b)};
  });
  shaped.expect_same();
}

TEST(JoinSmallSteps, StepsThatCannotBeAreRefused) {
  const Tensor x = strewn({3, 3}, 1);
  using Names = std::vector<std::string>;
  using Numbers = std::vector<std::int64_t>;
  const auto run = [&](const Names& ops, const Numbers& arity, const Numbers& args) {
    const Attributes steps = {{"ops", ops}, {"names", Names(ops.size())}, {"arity", arity}, {"args", args}};
    return test::error_of([&] { run_op_all(kJoinedSteps, {x}, steps); });
  };
  EXPECT_EQ(run({"MatMul", "MatMul"}, {2, 2}, {0, 0, 1, 0}), "");
  EXPECT_NE(run({"MatMul"}, {2}, {0, 1}).find("values that are there before"), std::string::npos);  // its own result
  EXPECT_NE(run({"MatMul"}, {2}, {0}).find("values that are there before"), std::string::npos);
  EXPECT_NE(run({"MatMul"}, {2, 2}, {0, 0}).find("how many values"), std::string::npos);
  EXPECT_NE(run({"NoSuchOp"}, {1}, {0}).find("NoSuchOp"), std::string::npos);
}

// An error names the node that it was before.
TEST(JoinSmallSteps, StepsKeepTheirNames) {
  SmallTraining training;
  const SmallStepsJoined joined(training.changing(), SmallTraining::batch(true), std::ref(training));
  std::vector<std::string> names, wanted;
  for (const Node& node : joined.joined().nodes) {
    if (node.op->name() == kJoinedSteps) names = node.attributes.get<std::vector<std::string>>("names");
  }
  for (const Node& node : joined.apart().nodes) {
    if (node.op->name() != "Input" && node.op->name() != "Constant" && !node.op->is_alias())
      wanted.push_back(node.name);
  }
  EXPECT_EQ(names, wanted);
  EXPECT_EQ(std::count(names.begin(), names.end(), "sparse_softmax_cross_entropy"), 1);
}

}  // namespace
}  // namespace cohort
