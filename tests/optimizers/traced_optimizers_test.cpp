#include <gtest/gtest.h>

#include "cohort/graph/function.h"
#include "cohort/optimizers/optimizers.h"
#include "tests/support/op_check.h"

namespace cohort {
namespace {

using MakeOptimizer = Ref<Optimizer> (*)();
const std::vector<MakeOptimizer> kMakers = {
    [] { return Ref<Optimizer>(optimizers::Adafactor(0.1)); },
    [] { return Ref<Optimizer>(optimizers::Ftrl(0.1, {.l1_regularization_strength = 0.01})); },
    [] { return Ref<Optimizer>(optimizers::Lamb(0.1, {.weight_decay = 0.1})); },
    [] { return Ref<Optimizer>(optimizers::Muon(0.1)); },
    [] { return Ref<Optimizer>(optimizers::ScheduleFreeAdamW(0.1, {.warmup_steps = 2})); },
    [] { return Ref<Optimizer>(optimizers::LossScaleOptimizer(optimizers::Adam(0.1), {.dynamic_growth_steps = 2})); },
};

Variables some_variables() {
  return {Variable(test::spread_tensor({6, 4}, -1, 1, DType::Float32, 1), {.name = "kernel"}),
          Variable(test::spread_tensor({4}, -1, 1, DType::Float32, 2), {.name = "bias"})};
}
Gradients gradients_of(int step) {
  const auto seed = static_cast<unsigned>(10 + step);
  return {test::spread_tensor({6, 4}, -1, 1, DType::Float32, seed),
          test::spread_tensor({4}, -1, 1, DType::Float32, seed + 100)};
}

TEST(TracedOptimizers, ATracedStepIsTheEagerStep) {
  for (const MakeOptimizer make : kMakers) {
    const Ref<Optimizer> eager = make(), traced = make();
    SCOPED_TRACE(eager->class_name());
    const Variables a = some_variables(), b = some_variables();
    Function step = function([&](Tensor kernel, Tensor bias) {
      traced->apply({kernel, bias}, b);
      return bias;
    });
    for (int i = 0; i < 5; ++i) {
      const Gradients now = gradients_of(i);
      eager->apply(now, a);
      step(now[0].dense(), now[1].dense());
    }
    for (std::size_t v = 0; v < a.size(); ++v) {
      const std::vector<float> want = read_now(a[v]).to_vector<float>(), got = read_now(b[v]).to_vector<float>();
      for (std::size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(got[i], want[i], 1e-5f) << v << " " << i;
    }
  }
}

}  // namespace
}  // namespace cohort
