// The programs that users write, on replicas in step.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cohort/cohort.h"
#include "tests/support/in_step_jobs.h"
#include "tests/support/in_step_strategies.h"
#include "tests/support/paths.h"

namespace cohort::distribute {
namespace {

namespace ch = cohort;
using cohort::test::in_step_on;
using cohort::test::InStep;
using cohort::test::values_of;
using cohort::test::waves;
using cohort::test::WeightValues;

Tensor labels_below(std::int64_t classes, std::int64_t count) {
  std::vector<std::int64_t> values;
  for (std::int64_t i = 0; i < count; ++i) values.push_back(i * 5 % classes);
  return Tensor::of(values, {count});
}

class ProgramsInStep : public testing::TestWithParam<InStep> {
 protected:
  // Runs a program by itself and on three replicas: the same weights.
  static void expect_same(const std::function<WeightValues()>& program) {
    set_random_seed(7);
    const WeightValues alone = program();
    const StrategyHandle strategy = in_step_on(GetParam(), 3);
    auto scope = strategy.scope();
    set_random_seed(7);
    const WeightValues in_step = program();
    ASSERT_EQ(in_step.size(), alone.size());
    for (std::size_t i = 0; i < alone.size(); ++i) {
      EXPECT_THAT(in_step[i], testing::Pointwise(testing::FloatNear(2e-4f), alone[i])) << "weight " << i;
    }
  }
  cohort::test::TemporaryFolder folder_;
};

TEST_P(ProgramsInStep, SequentialWithCallbacksAndFiles) {
  const Dataset data = datasets::from_tensor_slices(waves({26, 4, 4}), labels_below(10, 26));
  expect_same([&] {
    ch::Sequential model({
        ch::layers::Rescaling(1.0 / 255),
        ch::layers::Flatten(),
        ch::layers::Dense(8, {.activation = "relu"}),
        ch::layers::Dropout(0.2),
        ch::layers::Dense(10),
    });
    model.compile({.optimizer = ch::optimizers::Adam(1e-3),
                   .loss = ch::losses::SparseCategoricalCrossentropy({.from_logits = true}),
                   .metrics = {"accuracy"},
                   .steps_per_execution = 10});
    const std::string folder = folder_.path().string();
    const ch::History history = model.fit(
        data.shuffle(26).batch(8), {.epochs = 2,
                                    .verbose = 0,
                                    .validation_data = data.batch(8),
                                    .callbacks = {ch::callbacks::TensorBoard({.log_dir = folder + "/logs"}),
                                                  ch::callbacks::ModelCheckpoint(folder + "/{epoch:02d}.keras")}});
    EXPECT_EQ(history["val_accuracy"].size(), 2u);
    model.save(folder + "/model.keras");
    EXPECT_EQ(values_of(*ch::load_model(folder + "/model.keras")), values_of(model));
    EXPECT_TRUE(std::filesystem::exists(folder + "/02.keras"));
    return values_of(model);
  });
}

TEST_P(ProgramsInStep, FunctionalWithTwoInputs) {
  const Dataset data = datasets::from_tensor_slices(
      Element::tuple({Element::tuple({waves({13, 6, 6, 1}), waves({13, 4}, 5)}), labels_below(10, 13)}));
  expect_same([&] {
    ch::SymbolicTensor image = ch::Input({6, 6, 1}), meta = ch::Input({4});
    auto x = ch::layers::Conv2D(4, 3, {.activation = "relu"})(image);
    x = ch::layers::GlobalAveragePooling2D()(x);
    x = ch::layers::Concatenate()({x, meta});
    ch::Model model({image, meta}, ch::layers::Dense(10)(x));
    model.compile({.optimizer = "adam", .loss = ch::losses::SparseCategoricalCrossentropy({.from_logits = true})});
    model.fit(data.batch(5), {.epochs = 2, .verbose = 0});
    return values_of(model);
  });
}

TEST_P(ProgramsInStep, StepOfACustomLoop) {
  const Dataset data = datasets::from_tensor_slices(waves({14, 3}), waves({14, 1}, 11)).batch(6);
  const auto train = [&](const StrategyHandle* strategy) {
    set_random_seed(7);
    ch::Sequential model({ch::layers::Dense(4, {.activation = "tanh"}), ch::layers::Dense(1)});
    model.build({kUnknown, 3});
    const ch::optimizers::SGD optimizer(0.1);
    const ch::losses::MeanSquaredError loss_fn;
    const ch::metrics::MeanAbsoluteError error;
    const ch::Function step = ch::function([&](const ch::Tensor& x, const ch::Tensor& y) {
      ch::GradientTape tape;
      const ch::Tensor predictions = model(x, {.training = true});
      const ch::Tensor loss = ch::ops::mean(loss_fn(y, predictions));
      optimizer.apply(tape.gradient(loss, model.trainable_variables()), model.trainable_variables());
      error.update_state(y, predictions);
      return loss;
    });
    if (strategy) {
      for (const PerReplica& batch : strategy->experimental_distribute_dataset(data)) {
        strategy->run(step, batch[0], batch[1]);
      }
    } else {
      for (const Element& batch : data) step(batch[0].leaf(), batch[1].leaf());
    }
    return std::pair(values_of(model), error.result().item<double>());
  };
  const auto alone = train(nullptr);
  const StrategyHandle strategy = in_step_on(GetParam(), 2);
  auto scope = strategy.scope();
  const auto in_step = train(&strategy);
  for (std::size_t i = 0; i < alone.first.size(); ++i) {
    EXPECT_THAT(in_step.first[i], testing::Pointwise(testing::FloatNear(1e-5f), alone.first[i])) << "weight " << i;
  }
  EXPECT_NEAR(in_step.second, alone.second, 1e-5);
}

class Scale : public ch::Layer {
 public:
  void build(const ch::Shape& input) override { gain_ = add_weight("gain", {input.back()}, {.initializer = "ones"}); }
  ch::Tensor call(const ch::Tensor& x, const ch::CallContext&) override { return x * gain_; }

 private:
  ch::Variable gain_;
};
COHORT_REGISTER_LAYER("programs_in_step", Scale);

TEST_P(ProgramsInStep, LayerOfOnesOwn) {
  expect_same([&] {
    ch::Sequential model({ch::make<Scale>(), ch::layers::Dense(10)});
    model.compile({.optimizer = "sgd", .loss = "mse"});
    model.fit(waves({11, 3}), waves({11, 10}, 3), {.batch_size = 4, .epochs = 2, .verbose = 0});
    return values_of(model);
  });
}

INSTANTIATE_TEST_SUITE_P(Strategies, ProgramsInStep, testing::Values(InStep::Mirrored, InStep::CentralStorage),
                         [](const auto& info) { return cohort::test::name_of(info.param); });

}  // namespace
}  // namespace cohort::distribute
