#include <gtest/gtest.h>

#include <algorithm>

#include "cohort/layers/layers.h"
#include "cohort/losses/losses.h"
#include "cohort/model/fit/program.h"
#include "cohort/model/layer/dtype_policy.h"
#include "cohort/model/model.h"
#include "cohort/optimizers/optimizers.h"
#include "tests/support/same_products.h"

namespace cohort {
namespace {

// The train step of a small transformer, under a policy.
class PolicyStep {
 public:
  explicit PolicyStep(const char* policy)
      : half_(policy == std::string("mixed_float16") ? DType::Float16 : DType::BFloat16) {
    mixed_precision::set_global_policy(policy);
    set_random_seed(3);
    const SymbolicTensor input = Input({6}, {.dtype = int32});
    SymbolicTensor x = layers::Embedding(11, 16)(input);
    SymbolicTensor h = layers::LayerNormalization()(x);
    x = layers::Add()({x, layers::MultiHeadAttention(2, 8)(h, h, {.use_causal_mask = true})});
    h = layers::LayerNormalization()(x);
    x = layers::Add()({x, layers::Dense(16)(layers::Dense(40, {.activation = "relu"})(h))});
    model_ = std::make_unique<Model>(input, layers::Dense(11)(x));
    model_->compile({.optimizer = optimizers::SGD(0.1),
                     .loss = losses::SparseCategoricalCrossentropy({.from_logits = true}),
                     .auto_scale_loss = false});
    program_ = std::make_unique<Program>(*model_, Program::Kind::Train);
    step_ = &program_->step(with_unknown_batch(spec_of(Element::tuple({Element(x_), Element(x_)}))));
    mixed_precision::set_global_policy("float32");
  }

  DType half_type() const { return half_; }
  std::shared_ptr<Executable> compile(PassOptions passes = {}) const {
    Specs specs{x_.spec(), x_.spec()};
    for (const Tensor& capture : step_->traced.captures) specs.push_back(capture.spec());
    return cohort::compile(*step_->traced.graph, specs, default_device(), passes);
  }
  // Nodes of this op, or of any op that computes.
  int kernels(PassOptions passes, const std::string& op = "") const {
    const auto executable = compile(passes);
    const std::vector<Node>& nodes = executable->graph().nodes;
    return static_cast<int>(std::count_if(nodes.begin(), nodes.end(), [&](const Node& node) {
      const std::string& name = node.op->name();
      return op.empty() ? name != "Input" && name != "Constant" && !node.op->is_alias() : name == op;
    }));
  }
  // Casts of a weight as it stands, or only those to a half type.
  int cast_weights(PassOptions passes = {}, bool to_half = false) const {
    const auto executable = compile(passes);
    const Graph& graph = executable->graph();
    return static_cast<int>(std::count_if(graph.nodes.begin(), graph.nodes.end(), [&](const Node& node) {
      if (node.op->name() != "Cast" || (to_half && node.outputs[0].dtype != half_)) return false;
      int from = node.inputs[0].node;
      const auto at = [&](int i) -> const Node& { return graph.nodes[static_cast<std::size_t>(i)]; };
      while (at(from).op->is_alias() && at(from).op->name() != "ReadVariable") from = at(from).inputs[0].node;
      return at(from).op->name() == "ReadVariable";
    }));
  }
  // The weights after a step from where they are now, which is where they are put back.
  std::vector<std::vector<float>> weights_after_a_step(PassOptions passes) {
    Tensors before, inputs{x_, x_};
    for (const Tensor& weight : model_->get_weights()) before.push_back(weight.clone());
    inputs.insert(inputs.end(), step_->traced.captures.begin(), step_->traced.captures.end());
    Tensors outputs(step_->traced.graph->outputs.size());
    compile(passes)->run(inputs, outputs, {});
    std::vector<std::vector<float>> after;
    for (const Tensor& weight : model_->get_weights()) after.push_back(weight.to_vector<float>());
    model_->set_weights(before);
    return after;
  }

 private:
  DType half_;
  Tensor x_ = Tensor::of(std::vector<std::int32_t>{3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8}, {2, 6});
  std::unique_ptr<Model> model_;
  std::unique_ptr<Program> program_;
  const StepGraph* step_ = nullptr;
};

TEST(MixedStep, HasNoCastButOfWeights) {
  const PolicyStep mixed("mixed_bfloat16"), plain("float32");
  EXPECT_GT(mixed.kernels({.casts = false, .copies = false}, "Cast"), 25);
  // Where products read no float32, a weight that they read is cast.
  const int cast = test::products_read_float32() ? 0 : mixed.cast_weights();
  EXPECT_EQ(mixed.kernels({}, "Cast"), cast);
  EXPECT_EQ(plain.kernels({}, "Cast"), 0);
  EXPECT_EQ(mixed.kernels({}, "CopyVariable"), 0);
  // A GPU joins small steps in float32 alone.
  if (test::products_keep_bits()) {
    EXPECT_LE(mixed.kernels({}), plain.kernels({}) + 2 + cast);
  }
}

TEST(MixedStep, RoundsNoWeightWhereRoundedCopiesAreKept) {
  const PolicyStep mixed("mixed_bfloat16");
  EXPECT_GT(mixed.cast_weights({.casts = false, .copies = false}, true), 10);
  const int left = mixed.cast_weights({.casts = false}, true);
  if (default_device().can_record()) {
    EXPECT_EQ(left, 0);
  } else {
    EXPECT_GT(left, 10);
  }
}

TEST(MixedStep, KeepsItsWeightsWithoutCasts) {
  for (const char* policy : {"mixed_bfloat16", "mixed_float16"}) {
    PolicyStep mixed(policy);
    SCOPED_TRACE(policy);
    const auto without = mixed.weights_after_a_step({}), with = mixed.weights_after_a_step({.casts = false});
    ASSERT_EQ(without.size(), with.size());
    const auto rounded = mixed.weights_after_a_step({.copies = false});
    for (std::size_t i = 0; i < with.size(); ++i) {
      test::expect_same_product(without[i], with[i], mixed.half_type());
      test::expect_same_product(without[i], rounded[i], mixed.half_type());
    }
  }
}

}  // namespace
}  // namespace cohort
