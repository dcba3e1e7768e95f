#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "cohort/autodiff/tape.h"
#include "cohort/graph/function.h"
#include "cohort/ops/indexing.h"
#include "cohort/ops/math.h"
#include "cohort/ops/reduce.h"
#include "cohort/optimizers/optimizers.h"
#include "cohort/variables/variable_creator.h"
#include "tests/support/op_check.h"

// Numbers of these optimizers are compared with Keras's in the golden cases; here is what those cannot show.

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

TEST(MoreOptimizers, ATracedStepIsTheEagerStep) {
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

// A step far larger than a block: pieces on several threads give one norm.
TEST(Lamb, TakesALargeVariableAsOne) {
  const std::int64_t count = 100000;
  const Variable variable(Tensor::full({count}, 2.0), {.name = "large"});
  optimizers::Lamb(0.1).apply({Tensor::full({count}, 0.5)}, {variable});
  // All elements alike: the step is rate * |variable| / |direction| * direction = 0.1 * 2.
  const std::vector<float> values = read_now(variable).to_vector<float>();
  EXPECT_NEAR(values.front(), 1.8f, 1e-5f);
  EXPECT_EQ(values.front(), values.back());
}

TEST(LossScaleOptimizer, LeavesOutStepsThatAreNotFinite) {
  const optimizers::LossScaleOptimizer optimizer(optimizers::SGD(1.0),
                                                 {.initial_scale = 8.0, .dynamic_growth_steps = 2});
  const Variable variable(Tensor::full({2}, 1.0), {.name = "kernel"});
  EXPECT_FLOAT_EQ(optimizer->scale_loss(Tensor::scalar(2.0)).item<float>(), 16.0f);
  optimizer.apply({Tensor::of<float>({std::numeric_limits<float>::infinity(), 0}, {2})}, {variable});
  EXPECT_EQ(read_now(variable).to_vector<float>(), (std::vector<float>{1, 1}));
  EXPECT_EQ(optimizer->dynamic_scale(), 4.0);
  EXPECT_EQ(read_now(optimizer->iterations()).item<int>(), 0);
  optimizer.apply({Tensor::full({2}, 4.0)}, {variable});
  optimizer.apply({Tensor::full({2}, 4.0)}, {variable});
  EXPECT_EQ(read_now(variable).to_vector<float>(), (std::vector<float>{-1, -1}));
  EXPECT_EQ(optimizer->dynamic_scale(), 8.0);
  EXPECT_EQ(read_now(optimizer->iterations()).item<int>(), 2);
  EXPECT_FLOAT_EQ(optimizer->scale_loss(Tensor::scalar(2.0)).item<float>(), 16.0f);
  optimizer->set_learning_rate(0.5);
  EXPECT_FLOAT_EQ(static_cast<float>(optimizer->inner_optimizer()->learning_rate()), 0.5f);
}

// As in Keras: the accumulator of a row that two slices reach grows by 1 * 1 + 2 * 2, the row moves by their sum.
TEST(MoreOptimizers, SquareTheSlicesOfARowApart) {
  const Variable table(Tensor::full({3, 1}, 1.0), {.name = "table"});
  Gradients gradients;
  {
    GradientTape tape;
    const Tensor rows = ops::gather(table, Tensor::of<std::int32_t>({2, 2}, {2}));
    gradients = tape.gradient(ops::sum(rows * Tensor::of<float>({1, 2}, {2, 1})), Variables{table});
  }
  ASSERT_TRUE(gradients[0].is_slices());
  optimizers::Adagrad(1.0, {.initial_accumulator_value = 0.0, .epsilon = 0.0}).apply(gradients, {table});
  const std::vector<float> values = read_now(table).to_vector<float>();
  EXPECT_NEAR(values[2], 1.0f - 3.0f / std::sqrt(5.0f), 1e-6f);
  optimizers::Lamb lamb;
  EXPECT_NO_THROW(lamb.apply(gradients, {table}));
}

TEST(MoreOptimizers, SayWhetherTheyNeedWholeVariables) {
  EXPECT_TRUE(optimizers::Lamb()->needs_whole_variable());
  EXPECT_TRUE(optimizers::Adafactor()->needs_whole_variable());
  EXPECT_TRUE(optimizers::Muon()->needs_whole_variable());
  EXPECT_TRUE(optimizers::LossScaleOptimizer(optimizers::Lamb())->needs_whole_variable());
  EXPECT_FALSE(optimizers::Ftrl()->needs_whole_variable());
  EXPECT_FALSE(optimizers::ScheduleFreeAdamW()->needs_whole_variable());
}

TEST(MoreOptimizers, WrongArgumentsAreErrors) {
  using test::expect_error;
  expect_error([] { optimizers::Ftrl(0.1, {.learning_rate_power = 0.5}); }, {"Ftrl", "learning_rate_power=0.5"});
  expect_error([] { optimizers::Ftrl(0.1, {.initial_accumulator_value = -1}); }, {"initial_accumulator_value=-1"});
  expect_error([] { optimizers::Muon(0.1, {.exclude_layers = {"("}}); }, {"Muon", "regular expressions"});
  expect_error([] { optimizers::LossScaleOptimizer(Ref<Optimizer>()); }, {"inner_optimizer=None"});
  expect_error([] { optimizers::LossScaleOptimizer("sgd", {.initial_scale = 0}); }, {"initial_scale=0"});
  expect_error([] { optimizers::LossScaleOptimizer("sgd", {.dynamic_growth_steps = 0}); }, {"dynamic_growth_steps=0"});
  expect_error([] { optimizers::SGD()->exclude_from_weight_decay({}, {"["}); }, {"regular expressions", "name=["});
}

}  // namespace
}  // namespace cohort
