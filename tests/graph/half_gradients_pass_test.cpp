#include <gtest/gtest.h>

#include <algorithm>

#include "cohort/autodiff/tape.h"
#include "cohort/core/kernel.h"
#include "cohort/core/update_layout.h"
#include "cohort/graph/executable.h"
#include "cohort/graph/passes/pass.h"
#include "cohort/graph/specialize.h"
#include "cohort/graph/trace.h"
#include "cohort/ops/ops.h"
#include "cohort/optimizers/optimizers.h"
#include "cohort/variables/variable.h"
#include "tests/support/op_check.h"
#include "tests/support/same_products.h"

namespace cohort {
namespace {

// The training step of a layer in bfloat16, as a GPU's passes leave it.
class HalfStep {
 public:
  explicit HalfStep(Ref<Optimizer> optimizer) : optimizer_(std::move(optimizer)) {
    kernel_ = Variable(test::spread_tensor({6, 4}, -1, 1, DType::Float32, 1), {.name = "kernel"});
    bias_ = Variable(test::spread_tensor({4}, -1, 1, DType::Float32, 2), {.name = "bias"});
    inputs_ = {test::spread_tensor({5, 6}, -1, 1, DType::BFloat16, 3)};
    traced_ = trace({inputs_[0].spec()}, [&](const Tensors& batch) -> Tensors {
      GradientTape tape;
      const Tensor y = ops::matmul(batch[0], ops::cast(kernel_, DType::BFloat16)) + ops::cast(bias_, DType::BFloat16);
      const Tensor loss = ops::mean(ops::square(ops::cast(y, DType::Float32)));
      optimizer_->apply(tape.gradient(loss, Variables{kernel_, bias_}), {kernel_, bias_});
      return {};
    });
    inputs_.insert(inputs_.end(), traced_.captures.begin(), traced_.captures.end());
    for (const Tensor& input : inputs_) specs_.push_back(input.spec());
    graph_ = specialize(*traced_.graph, specs_);
    passes::fold(graph_);
    passes::layout(graph_);
    passes::take_in_casts(graph_, kGPU);
    passes::fuse_bias_gradients(graph_);
    passes::schedule(graph_);
  }

  // The types of the gradients that updates read; an update's in one list.
  std::vector<std::vector<DType>> gradients() const {
    std::vector<std::vector<DType>> found;
    for (const Node& node : graph_.nodes) {
      if (!UpdateLayout::describes(*node.op)) continue;
      const UpdateLayout at(*node.op, node.attributes, static_cast<int>(node.inputs.size()));
      std::vector<DType>& types = found.emplace_back();
      for (int i = 0; i < at.count(); ++i) {
        types.push_back(graph_.spec(node.inputs[static_cast<std::size_t>(at.gradient(i))]).dtype);
      }
    }
    return found;
  }
  int count(const std::string& op) const {
    return static_cast<int>(std::count_if(graph_.nodes.begin(), graph_.nodes.end(),
                                          [&](const Node& node) { return node.op->name() == op; }));
  }
  const Graph& graph() const { return graph_; }

  void run(bool passes) {
    const auto executable = passes ? compile(graph_, specs_, default_device(), {})
                                   : compile(*traced_.graph, specs_, default_device(), {.fuse = false, .casts = false});
    for (int step = 0; step < 3; ++step) executable->run(inputs_, {}, {});
  }
  std::vector<float> weights() const {
    std::vector<float> all = read_now(kernel_).to_vector<float>();
    const std::vector<float> bias = read_now(bias_).to_vector<float>();
    all.insert(all.end(), bias.begin(), bias.end());
    return all;
  }

 private:
  Ref<Optimizer> optimizer_;
  Variable kernel_, bias_;
  Tensors inputs_;
  Specs specs_;
  TracedGraph traced_;
  Graph graph_;
};

// What a product makes is read as the graph says; sums stay float32. Both are still updated by one node.
TEST(HalfGradientsPass, AnUpdateReadsWhatAProductMakes) {
  const auto make = [] { return Ref<Optimizer>(optimizers::SGD(0.1, {.momentum = 0.9})); };
  HalfStep step(make()), plain(make());
  ASSERT_EQ(step.gradients().size(), 1u) << step.graph().to_string();
  std::vector<DType> types = step.gradients()[0];
  std::sort(types.begin(), types.end());
  std::vector<DType> wanted{DType::BFloat16, DType::Float32};
  std::sort(wanted.begin(), wanted.end());
  EXPECT_EQ(types, wanted);
  EXPECT_EQ(step.count("MatMulBiasGrad"), 1) << step.graph().to_string();
  step.run(true);
  plain.run(false);
  const std::vector<float> seen = step.weights(), expected = plain.weights();
  for (std::size_t i = 0; i < seen.size(); ++i) EXPECT_NEAR(seen[i], expected[i], 2e-3) << i;
}

TEST(HalfGradientsPass, OthersGetFloat32) {
  const HalfStep lamb(optimizers::Lamb(0.1));
  ASSERT_FALSE(lamb.gradients().empty());
  for (const std::vector<DType>& types : lamb.gradients()) {
    for (const DType type : types) EXPECT_EQ(type, DType::Float32);
  }
  // Something else looks at the gradients as well.
  const HalfStep clipped(optimizers::SGD(0.1, {.global_clipnorm = 0.5}));
  ASSERT_FALSE(clipped.gradients().empty());
  for (const std::vector<DType>& types : clipped.gradients()) {
    for (const DType type : types) EXPECT_EQ(type, DType::Float32);
  }
}

}  // namespace
}  // namespace cohort
