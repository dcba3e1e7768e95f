#include "cohort/callbacks/swap_ema_weights.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cohort/callbacks/lambda_callback.h"
#include "cohort/core/error.h"
#include "cohort/layers/core/dense.h"
#include "cohort/model/sequential.h"
#include "cohort/optimizers/loss_scale_optimizer.h"
#include "cohort/optimizers/sgd.h"
#include "tests/support/error_of.h"

namespace cohort::callbacks {
namespace {

using testing::FloatNear;
using testing::HasSubstr;
using testing::Pointwise;

Tensor ema_inputs() { return Tensor::of(std::vector<float>{1, 2, 3, 4, -1, 1, 0, 2}, {4, 2}); }
Tensor ema_targets() { return Tensor::of(std::vector<float>{1, 2, 0, -1}, {4, 1}); }

std::vector<float> ema_weights_of(const Model& model) {
  std::vector<float> values;
  for (const Tensor& weight : model.get_weights()) {
    for (const float value : weight.to_vector<float>()) values.push_back(value);
  }
  return values;
}

// The training that Keras 3.15 gave the figures below for.
class AveragedTraining {
 public:
  explicit AveragedTraining(Ref<Optimizer> optimizer = optimizers::SGD(0.1, {.use_ema = true, .ema_momentum = 0.5}))
      : model_({layers::Dense(1)}) {
    model_.build({kUnknown, 2});
    model_.set_weights({Tensor::of(std::vector<float>{1, -1}, {2, 1}), Tensor::of(std::vector<float>{0.5f}, {1})});
    model_.compile({.optimizer = optimizer, .loss = "mse"});
  }
  History fit(const Ref<Callback>& swapping) {
    const Ref<Callback> watching = LambdaCallback(
        {.on_epoch_end = [this](std::int64_t, Logs&) { at_epoch_end_.push_back(ema_weights_of(model_)); }});
    return model_.fit(ema_inputs(), ema_targets(),
                      {.batch_size = 2,
                       .epochs = 3,
                       .verbose = 0,
                       .validation_data = DataArgument(ema_inputs(), ema_targets()),
                       .shuffle = false,
                       .callbacks = {swapping, watching}});
  }
  Sequential& model() { return model_; }
  // As callbacks behind SwapEMAWeights see them.
  const std::vector<std::vector<float>>& at_epoch_end() const { return at_epoch_end_; }

 private:
  Sequential model_;
  std::vector<std::vector<float>> at_epoch_end_;
};

const std::vector<double> kValidated = {7.695087909698486, 3.395670175552368, 7.825500965118408};
const std::vector<std::vector<float>> kTrained = {{1.83000016f, -0.12999997f, 0.72000003f},
                                                  {0.37039995f, -1.13920009f, 0.69620001f},
                                                  {2.07428408f, 0.18540418f, 0.8546201f}};
const std::vector<std::vector<float>> kAverages = {{1.86500001f, 0.08500005f, 0.80999994f},
                                                   {0.79995f, -1.01435006f, 0.60609996f},
                                                   {1.74122953f, 0.13984466f, 0.92691505f}};

void expect_weights_near(const std::vector<std::vector<float>>& seen, const std::vector<std::vector<float>>& expected) {
  ASSERT_EQ(seen.size(), expected.size());
  for (std::size_t i = 0; i < seen.size(); ++i) EXPECT_THAT(seen[i], Pointwise(FloatNear(2e-6f), expected[i])) << i;
}

TEST(SwapEMAWeights, ValidatesWithTheAverages) {
  AveragedTraining training;
  const History history = training.fit(SwapEMAWeights());
  EXPECT_THAT(history["val_loss"], Pointwise(testing::DoubleNear(2e-5), kValidated));
  expect_weights_near(training.at_epoch_end(), kTrained);
  EXPECT_THAT(ema_weights_of(training.model()), Pointwise(FloatNear(2e-6f), kAverages.back()));
}

TEST(SwapEMAWeights, ShowsCallbacksTheAveragesWhenAsked) {
  AveragedTraining training;
  const History history = training.fit(SwapEMAWeights({.swap_on_epoch = true}));
  EXPECT_THAT(history["val_loss"], Pointwise(testing::DoubleNear(2e-5), kValidated));
  expect_weights_near(training.at_epoch_end(), kAverages);
  EXPECT_THAT(ema_weights_of(training.model()), Pointwise(FloatNear(2e-6f), kAverages.back()));
}

TEST(SwapEMAWeights, FindsTheAveragesBehindALossScale) {
  AveragedTraining training(optimizers::LossScaleOptimizer(optimizers::SGD(0.1, {.use_ema = true, .ema_momentum = 0.5}),
                                                           {.initial_scale = 1.0}));
  EXPECT_THAT(training.fit(SwapEMAWeights())["val_loss"], Pointwise(testing::DoubleNear(2e-5), kValidated));
}

TEST(SwapEMAWeights, EvaluatesAndPredictsWithTheAveragesAndPutsTheWeightsBack) {
  AveragedTraining training;
  Sequential& model = training.model();
  for (int i = 0; i < 3; ++i) model.train_on_batch(ema_inputs(), ema_targets());
  const std::vector<float> trained = ema_weights_of(model);
  const auto averaged = [&](const Variable& weight) {
    for (const auto& [each, average] : model.optimizer()->averages()) {
      if (each == weight) return read_now(average);
    }
    return Tensor();
  };
  Sequential expected({layers::Dense(1)});
  expected.build({kUnknown, 2});
  expected.set_weights({averaged(model.weights()[0]), averaged(model.weights()[1])});
  const Ref<Callback> swapping = SwapEMAWeights();
  EXPECT_EQ(model.predict(ema_inputs(), {.verbose = 0, .callbacks = {swapping}}).to_vector<float>(),
            expected.predict(ema_inputs(), {.verbose = 0}).to_vector<float>());
  EXPECT_EQ(ema_weights_of(model), trained);
  model.evaluate(ema_inputs(), ema_targets(), {.verbose = 0, .callbacks = {swapping}});
  EXPECT_EQ(ema_weights_of(model), trained);
}

TEST(SwapEMAWeights, NeedsAnOptimizerThatKeepsAverages) {
  AveragedTraining training(optimizers::SGD(0.1));
  EXPECT_THAT(test::error_of([&] { training.fit(SwapEMAWeights()); }),
              HasSubstr("SwapEMAWeights: the optimizer must keep averages of the weights it trains"));
}

}  // namespace
}  // namespace cohort::callbacks
