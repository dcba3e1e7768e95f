#include "cohort/optimizers/optimizers.h"

#include <gtest/gtest.h>

#include <cmath>

#include "cohort/autodiff/tape.h"
#include "cohort/graph/function.h"
#include "cohort/ops/indexing.h"
#include "cohort/ops/math.h"
#include "cohort/ops/reduce.h"
#include "cohort/saving/config_json.h"
#include "tests/support/op_check.h"

// Expected numbers come from Keras 3.15.

namespace cohort {
namespace {

using optimizers::Adam;
using optimizers::SGD;

const std::vector<Tensor>& gradients() {
  static const std::vector<Tensor> values = {Tensor::of<float>({0.5, -1, 2}, {3}), Tensor::of<float>({1, 1, -3}, {3})};
  return values;
}

Variable kernel() { return Variable(Tensor::of<float>({1, 2, 3}, {3}), {.name = "kernel"}); }

void expect_near(const Variable& variable, const std::vector<float>& want, float tolerance = 2e-6f) {
  const std::vector<float> got = read_now(variable).to_vector<float>();
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], want[i], tolerance) << "element " << i;
}

Variable trained(const Ref<Optimizer>& optimizer, int steps = 2) {
  const Variable variable = kernel();
  for (int i = 0; i < steps; ++i) optimizer->apply({gradients()[static_cast<std::size_t>(i % 2)]}, {variable});
  EXPECT_EQ(read_now(optimizer->iterations()).item<std::int64_t>(), steps);
  return variable;
}

TEST(Optimizers, StepsMatchKeras) {
  expect_near(trained(SGD(0.1)), {0.85f, 2.0f, 3.1f});
  expect_near(trained(SGD(0.1, {.momentum = 0.9})), {0.805f, 2.09f, 2.92f});
  expect_near(trained(SGD(0.1, {.momentum = 0.9, .nesterov = true})), {0.6745f, 2.081f, 3.028f});
  expect_near(trained(SGD(0.1, {.weight_decay = 0.1})), {0.8306f, 1.9592f, 3.0423f});
  expect_near(trained(Adam(0.1)), {0.8034843f, 2.0947359f, 2.9247708f});
  expect_near(trained(Adam(0.1, {.amsgrad = true})), {0.8034843f, 2.0947359f, 2.9247708f});
  expect_near(trained(optimizers::AdamW(0.1)), {0.8027245f, 2.0930963f, 2.9224114f});
  expect_near(trained(optimizers::RMSprop(0.1)), {0.3980587f, 2.0868120f, 2.9510336f});
  expect_near(trained(optimizers::RMSprop(0.1, {.momentum = 0.5, .centered = true})),
              {0.1860802f, 2.2705238f, 2.7688017f});
  expect_near(trained(optimizers::Adagrad(0.1)), {0.8294183f, 2.0263398f, 2.9841139f});
  expect_near(trained(optimizers::Adamax(0.1)), {0.8236843f, 2.0947368f, 2.9210527f});
  expect_near(trained(optimizers::Nadam(0.1)), {0.7991076f, 2.0391157f, 2.9747434f});
  expect_near(trained(optimizers::Lion(0.1)), {0.8f, 2.0f, 3.0f});
  expect_near(trained(optimizers::Adadelta(1.0)), {0.9967880f, 1.9999821f, 3.0002627f});
}

TEST(Optimizers, PreparationMatchesKeras) {
  expect_near(trained(SGD(0.1, {.clipnorm = 1.0})), {0.9480271f, 2.0134923f, 3.0031662f});
  expect_near(trained(SGD(0.1, {.clipvalue = 0.7})), {0.88f, 2.0f, 3.0f});
  expect_near(trained(SGD(0.1, {.global_clipnorm = 1.0})), {0.9480271f, 2.0134923f, 3.0031662f});
  expect_near(trained(SGD(0.1, {.loss_scale_factor = 4.0})), {0.9625f, 2.0f, 3.025f});
  expect_near(trained(Adam(0.1, {.gradient_accumulation_steps = 2}), 4), {0.8000024f, 2.0f, 3.1999972f});
  expect_near(trained(Adam(0.1, {.gradient_accumulation_steps = 2}), 3), {0.9000011f, 2.0f, 3.0999987f});
}

TEST(Optimizers, AveragesMatchKeras) {
  const SGD optimizer(0.1, {.use_ema = true, .ema_momentum = 0.9});
  const Variable variable = trained(optimizer);
  expect_near(variable, {0.85f, 2.0f, 3.1f});
  optimizer->finalize_variable_values({variable});
  expect_near(variable, {0.94f, 2.09f, 2.83f});
  expect_near(trained(SGD(0.1, {.use_ema = true, .ema_momentum = 0.9, .ema_overwrite_frequency = 2})),
              {0.94f, 2.09f, 2.83f});
}

TEST(Optimizers, StateIsInKerasOrder) {
  const Adam optimizer(0.1);
  optimizer->build({kernel(), Variable(Tensor::of<float>({0}, {1}), {.name = "bias"})});
  std::vector<std::string> paths;
  for (const Variable& variable : optimizer->variables()) paths.push_back(variable.path());
  EXPECT_EQ(paths, (std::vector<std::string>{"adam/iteration", "adam/learning_rate", "adam/kernel_momentum",
                                             "adam/kernel_velocity", "adam/bias_momentum", "adam/bias_velocity"}));
}

TEST(Optimizers, ATracedStepIsTheEagerStep) {
  const Adam eager(0.1), traced(0.1);
  const Variable first = trained(eager), second = kernel();
  traced->build({second});
  const Function step = function([&](const Tensor& gradient) { traced.apply({gradient}, {second}); });
  for (const Tensor& gradient : gradients()) step(gradient);
  EXPECT_EQ(read_now(first).to_vector<float>(), read_now(second).to_vector<float>());
}

TEST(Optimizers, TracedAccumulationIsTheEagerOne) {
  for (const double momentum : {0.0, 0.9}) {
    const SGD eager(0.1, {.momentum = momentum, .gradient_accumulation_steps = 2});
    const SGD traced(0.1, {.momentum = momentum, .gradient_accumulation_steps = 2});
    const Variable first = kernel(), second = kernel();
    eager->build({first});
    traced->build({second});
    const Function step = function([&](const Tensor& gradient) { traced.apply({gradient}, {second}); });
    for (int i = 0; i < 5; ++i) {
      SCOPED_TRACE(i);
      const Tensor& gradient = gradients()[static_cast<std::size_t>(i % 2)];
      eager.apply({gradient}, {first});
      step(gradient);
      EXPECT_EQ(read_now(first).to_vector<float>(), read_now(second).to_vector<float>()) << step.graph().to_string();
    }
  }
}

TEST(Optimizers, ALargeUpdateIsTheSameInEveryElement) {
  const std::int64_t size = 100003;
  const Variable large(Tensor::full({size}, 1.0), {.name = "large"});
  const Variable small(Tensor::full({1}, 1.0), {.name = "small"});
  Adam(0.1).apply({Tensor::full({size}, 0.3), Tensor::full({1}, 0.3)}, {large, small});
  const float want = read_now(small).item<float>();
  for (float value : read_now(large).to_vector<float>()) ASSERT_EQ(value, want);
}

TEST(Optimizers, SlicesChangeOnlyTheirRows) {
  const Variable table(Tensor::full({3, 2}, 1.0), {.name = "table"});
  const IndexedSlices slices{Tensor::of<float>({1, 2, 1, 1}, {2, 2}), Tensor::of<std::int64_t>({2, 2}, {2}),
                             table.value()};
  SGD(0.1).apply({slices}, {table});
  expect_near(table, {1, 1, 1, 1, 0.8f, 0.7f});
}

TEST(Optimizers, ConstraintsHoldAfterAStep) {
  Variable variable = kernel();
  variable.set_constraint("non_neg");
  SGD(1.0).apply({Tensor::of<float>({5, 1, 1}, {3})}, {variable});
  expect_near(variable, {0, 1, 2});
}

TEST(Optimizers, ExcludedVariablesDoNotDecay) {
  const SGD optimizer(0.1, {.weight_decay = 0.5});
  optimizer->exclude_from_weight_decay({}, {"bias"});
  const Variable weight = kernel(), bias(Tensor::of<float>({1}, {1}), {.name = "bias"});
  optimizer.apply({Tensor::full({3}, 0.0), Tensor::full({1}, 0.0)}, {weight, bias});
  expect_near(weight, {0.95f, 1.9f, 2.85f});
  expect_near(bias, {1.0f});
}

// An optimizer of a user's, made of ops.
class Sign : public Optimizer {
 public:
  Sign() : Optimizer(0.5, {.weight_decay = 0.1, .gradient_accumulation_steps = 2}, "sign") {}
  std::string class_name() const override { return "mine>Sign"; }
  void update_step(const Gradient& gradient, const Variable& variable, const Tensor& learning_rate) override {
    Variable(variable).assign_sub(ops::sign(gradient.dense()) * learning_rate);
  }
};

TEST(Optimizers, AUsersOptimizerAccumulatesAndDecays) {
  const auto optimizer = make<Sign>();
  const Variable variable = kernel();
  optimizer.apply({gradients()[0]}, {variable});
  expect_near(variable, {1, 2, 3});
  optimizer.apply({gradients()[1]}, {variable});
  expect_near(variable, {0.45f, 1.9f, 3.35f});
}

TEST(Optimizers, RatesCanBeSetUnlessScheduled) {
  const SGD optimizer(0.1);
  EXPECT_FLOAT_EQ(optimizer->learning_rate(), 0.1f);
  optimizer->set_learning_rate(0.25);
  EXPECT_FLOAT_EQ(optimizer->learning_rate(), 0.25f);
  const SGD scheduled(optimizers::schedules::ExponentialDecay(0.1, 1, 0.5));
  EXPECT_FLOAT_EQ(scheduled->learning_rate(), 0.1f);
  trained(scheduled);
  EXPECT_FLOAT_EQ(scheduled->learning_rate(), 0.025f);
  EXPECT_EQ(scheduled->variables().size(), 1u);
  test::expect_error([&] { scheduled->set_learning_rate(1.0); }, {"schedule"});
}

TEST(Optimizers, WrongArgumentsAreErrors) {
  test::expect_error([] { SGD(0.1, {.momentum = 2.0}); }, {"momentum", "Received", "2"});
  test::expect_error([] { SGD(0.1, {.clipnorm = 1.0, .clipvalue = 1.0}); }, {"only one of"});
  test::expect_error([] { SGD(0.1, {.gradient_accumulation_steps = 1}); }, {"at least 2"});
  test::expect_error([] { SGD(0.1).apply({Gradient()}, {kernel()}); }, {"at least one variable"});
  const SGD optimizer(0.1);
  trained(optimizer);
  test::expect_error([&] { optimizer.apply({gradients()[0]}, {kernel()}); }, {"built with", "kernel"});
  test::expect_error([] { SGD(0.1).apply({Tensor::full({2}, 0.0)}, {kernel()}); }, {"shape", "(2,)", "(3,)"});
}

TEST(Optimizers, ConfigsGoRoundTrip) {
  optimizers::AdamOptimizer read;
  from_json(read, R"({"name": "adam", "learning_rate": 0.25, "beta_1": 0.5, "amsgrad": true})");
  EXPECT_FLOAT_EQ(read.learning_rate(), 0.25f);
  const std::string json = to_json(read);
  EXPECT_NE(json.find("\"amsgrad\":true"), std::string::npos) << json;
  optimizers::SGDOptimizer scheduled;
  from_json(scheduled, R"({"learning_rate": {"module": "keras.optimizers.schedules", "class_name": "InverseTimeDecay",
      "config": {"initial_learning_rate": 0.5, "decay_steps": 1, "decay_rate": 1.0, "staircase": false,
                 "name": "InverseTimeDecay"}, "registered_name": null}})");
  EXPECT_FLOAT_EQ(scheduled.learning_rate(), 0.5f);
  for (const char* name : {"sgd", "adam", "adamw", "rmsprop", "adagrad", "adamax", "SGD", "Adam"}) {
    EXPECT_TRUE(Ref<Optimizer>(name));
  }
}

// As in Keras: the accumulator of a row that two slices reach grows by 1 * 1 + 2 * 2, the row moves by their sum.
TEST(Optimizers, SquareTheSlicesOfARowOneByOne) {
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

TEST(Optimizers, WrongOptionsAreErrors) {
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
