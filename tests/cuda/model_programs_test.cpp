#include <gtest/gtest.h>

#include <set>

#include "cohort/cuda/nvrtc.h"
#include "cohort/cuda/program_headers.h"
#include "cohort/kernels/cuda/fused_source.h"
#include "cohort/layers/layers.h"
#include "cohort/losses/losses.h"
#include "cohort/model/fit/program.h"
#include "cohort/model/layer/dtype_policy.h"
#include "cohort/model/sequential.h"
#include "cohort/optimizers/optimizers.h"

namespace cohort {
namespace {

// Programs of the fused groups in a training step of this model.
std::set<std::string> programs_of(Model& model, const Tensor& x, const Tensor& y) {
  model.compile({.optimizer = optimizers::AdamW(1e-3),
                 .loss = losses::SparseCategoricalCrossentropy({.from_logits = true}),
                 .metrics = {"accuracy"}});
  model.predict_on_batch(x);
  Program program(model, Program::Kind::Train);
  const StepGraph& step = program.step(with_unknown_batch(spec_of(Element::tuple({Element(x), Element(y)}))));
  Specs specs{x.spec(), y.spec()};
  for (const Tensor& capture : step.traced.captures) specs.push_back(capture.spec());
  const auto executable = compile(*step.traced.graph, specs, cpu());
  std::set<std::string> programs;
  for (const Node& node : executable->graph().nodes) {
    if (node.op->name() != "FusedElementwise") continue;
    Specs inputs;
    for (const Value& input : node.inputs) inputs.push_back(executable->graph().spec(input));
    const OpCall call(*node.op, node.attributes, inputs);
    programs.insert(kernels::cuda::FusedSource(KernelSpec(call, node.outputs, cpu())).text());
  }
  return programs;
}

void expect_all_compile(const std::set<std::string>& programs) {
  EXPECT_GT(programs.size(), 1u);
  for (const std::string& program : programs) {
    EXPECT_GT(cuda::Nvrtc::instance().compile(program, cuda::program_headers(), 90).size(), 0u);
  }
}

class ModelPrograms : public testing::TestWithParam<const char*> {
 protected:
  ModelPrograms() { mixed_precision::set_global_policy(GetParam()); }
  ~ModelPrograms() override { mixed_precision::set_global_policy("float32"); }
};

TEST_P(ModelPrograms, CompileForConvolutions) {
  Sequential model({layers::Conv2D(8, 3, {.padding = "same", .use_bias = false}), layers::BatchNormalization(),
                    layers::Activation("swish"), layers::MaxPooling2D(2), layers::Conv2D(8, 3, {.activation = "elu"}),
                    layers::GlobalAveragePooling2D(), layers::Dropout(0.3), layers::Dense(10)});
  expect_all_compile(programs_of(model, Tensor::full({4, 12, 12, 3}, 0.5), Tensor::full({4}, 3, int32)));
}

TEST_P(ModelPrograms, CompileForSequences) {
  Sequential model({layers::Embedding(50, 16), layers::LayerNormalization(), layers::Dense(32, {.activation = "gelu"}),
                    layers::Dense(16, {.activation = "softplus"}), layers::GlobalAveragePooling1D(),
                    layers::Dense(10)});
  expect_all_compile(programs_of(model, Tensor::full({4, 7}, 5, int32), Tensor::full({4}, 3, int32)));
}

INSTANTIATE_TEST_SUITE_P(Precisions, ModelPrograms, testing::Values("float32", "mixed_bfloat16", "mixed_float16"));

}  // namespace
}  // namespace cohort
