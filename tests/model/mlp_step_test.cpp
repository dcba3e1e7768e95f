#include <gtest/gtest.h>

#include <algorithm>

#include "cohort/core/joined_steps.h"
#include "cohort/core/kernel.h"
#include "cohort/layers/layers.h"
#include "cohort/losses/losses.h"
#include "cohort/model/fit/program.h"
#include "cohort/model/sequential.h"
#include "cohort/optimizers/optimizers.h"

namespace cohort {
namespace {

// The benchmark's mlp, with shapes small enough for a test; what the passes make of its train step does not depend on
// them.
class MlpStep : public ::testing::Test {
 protected:
  MlpStep()
      : model_(
            {layers::Dense(32, {.activation = "relu"}), layers::Dense(32, {.activation = "relu"}), layers::Dense(10)}),
        x_(Tensor::full({16, 20}, 0.5)),
        y_(Tensor::full({16}, 3, int32)) {
    model_.compile(
        {.optimizer = optimizers::Adam(1e-3), .loss = losses::SparseCategoricalCrossentropy({.from_logits = true})});
    model_.predict_on_batch(x_);
    program_ = std::make_unique<Program>(model_, Program::Kind::Train);
    step_ = &program_->step(with_unknown_batch(spec_of(Element::tuple({Element(x_), Element(y_)}))));
  }

  std::shared_ptr<Executable> compile(PassOptions passes = {}) const {
    Specs specs{x_.spec(), y_.spec()};
    for (const Tensor& capture : step_->traced.captures) specs.push_back(capture.spec());
    return cohort::compile(*step_->traced.graph, specs, default_device(), passes);
  }

  // What takes time when the graph runs, in order, one by one where it is done together.
  static std::vector<std::string> kernels(const Graph& graph) {
    std::vector<std::string> names;
    for (const Node& node : graph.nodes) {
      if (node.op->name() == "Input" || node.op->name() == "Constant" || node.op->is_alias()) continue;
      if (node.op->name() != "JoinedSteps") {
        names.push_back(with_activation(*node.op, node.attributes));
        continue;
      }
      Specs specs;
      for (const Value& input : node.inputs) specs.push_back(graph.spec(input));
      const JoinedSteps joined(OpCall(*node.op, node.attributes, specs));
      for (const JoinedSteps::Step& step : joined.steps()) {
        names.push_back(with_activation(*step.op, step.attributes));
      }
    }
    return names;
  }
  static std::string with_activation(const OpDef& op, const Attributes& attributes) {
    const auto activation = attributes.get<std::string>("activation", "");
    return activation.empty() ? op.name() : op.name() + "+" + activation;
  }
  static int count(const std::vector<std::string>& names, const std::string& name) {
    return static_cast<int>(std::count(names.begin(), names.end(), name));
  }

  Sequential model_;
  Tensor x_, y_;
  std::unique_ptr<Program> program_;
  const StepGraph* step_ = nullptr;
};

const std::vector<std::string> kExpected = {
    "FusedMatMul+Relu",               // hidden layer 1
    "FusedMatMul+Relu",               // hidden layer 2
    "FusedMatMul",                    // logits
    "SparseSoftmaxCrossEntropy",      // loss per sample
    "SparseSoftmaxCrossEntropyGrad",  // backward
    "MatMulBiasGrad",                 // of a weight and its bias
    "MatMul",
    "ReluGrad",
    "MatMulBiasGrad",
    "MatMul",
    "ReluGrad",
    "MatMulBiasGrad",
    "AdamUpdate",          // one for all weights
    "AssignAddVariables",  // iterations, total and count of the running loss
};

TEST_F(MlpStep, IsExactlyTheseKernels) {
  std::vector<std::string> sorted = kernels(compile()->graph()), expected = kExpected;
  if (default_device().kernel_type() == kGPU) {
    std::replace(expected.begin(), expected.end(), std::string("SparseSoftmaxCrossEntropy"),
                 std::string("SparseSoftmaxCrossEntropyAndGrad"));
    std::erase(expected, "SparseSoftmaxCrossEntropyGrad");
  }
  std::sort(sorted.begin(), sorted.end());
  std::sort(expected.begin(), expected.end());
  EXPECT_EQ(sorted, expected) << compile()->graph().to_string();
}

TEST_F(MlpStep, FuseMakesOneMatmulPerLayer) {
  EXPECT_EQ(count(kernels(compile()->graph()), "FusedMatMul+Relu"), 2);
  EXPECT_EQ(count(kernels(compile({.fuse = false})->graph()), "FusedMatMul+Relu"), 0);
}

TEST_F(MlpStep, ScheduleMakesOneUpdate) {
  EXPECT_EQ(count(kernels(compile()->graph()), "AdamUpdate"), 1);
  EXPECT_EQ(count(kernels(compile({.schedule = false})->graph()), "AdamUpdate"), 6);
}

TEST_F(MlpStep, FoldLeavesNoArithmeticOnShapes) {
  EXPECT_EQ(count(kernels(compile()->graph()), "BroadcastLike"), 0);
  EXPECT_GT(count(kernels(compile({.fold = false})->graph()), "SizeOf"), 0);
}

TEST_F(MlpStep, MemoryIsShared) {
  EXPECT_LT(compile()->arena_bytes(), compile({.memory = false})->arena_bytes() * 3 / 4);
}

}  // namespace
}  // namespace cohort
