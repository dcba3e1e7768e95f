#include <gtest/gtest.h>

#include "cohort/optimizers/optimizers.h"
#include "tests/support/op_check.h"

// Expected numbers come from Keras 3.15.

namespace cohort::optimizers::schedules {
namespace {

void expect_rates(const Ref<LearningRateSchedule>& schedule, const std::vector<double>& want) {
  const std::vector<std::int64_t> steps = {0, 3, 5, 12, 30};
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const Tensor rate = (*schedule)(Tensor::of<std::int64_t>({steps[i]}, {}));
    EXPECT_EQ(rate.dtype(), DType::Float32);
    EXPECT_NEAR(rate.item<double>(), want[i], 1e-7) << schedule->class_name() << " at step " << steps[i];
  }
}

TEST(Schedules, RatesMatchKeras) {
  expect_rates(ExponentialDecay(0.1, 10, 0.5), {0.1, 0.08122524, 0.07071068, 0.04352752, 0.0125});
  expect_rates(ExponentialDecay(0.1, 10, 0.5, {.staircase = true}), {0.1, 0.1, 0.1, 0.05, 0.0125});
  expect_rates(InverseTimeDecay(0.1, 10, 0.5), {0.1, 0.08695652, 0.08, 0.0625, 0.04});
  expect_rates(PolynomialDecay(0.1, 20, {.end_learning_rate = 0.01, .power = 2.0}),
               {0.1, 0.075025, 0.060625, 0.0244, 0.01});
  expect_rates(PolynomialDecay(0.1, 20, {.end_learning_rate = 0.01, .cycle = true}),
               {0.1, 0.0865, 0.0775, 0.046, 0.0325});
  expect_rates(CosineDecay(0.1, 20, {.alpha = 0.1}), {0.1, 0.09509529, 0.08681981, 0.04109422, 0.01});
  expect_rates(CosineDecay(0.01, 20, {.warmup_target = 0.1, .warmup_steps = 5}), {0.01, 0.064, 0.1, 0.07269952, 0.0});
  expect_rates(CosineDecayRestarts(0.1, 5, {.t_mul = 2.0, .m_mul = 0.5}),
               {0.1, 0.03454914, 0.05, 0.01030536, 0.003661165});
  expect_rates(PiecewiseConstantDecay({5, 15}, {1.0, 0.5, 0.1}), {1.0, 1.0, 1.0, 0.5, 0.1});
}

TEST(Schedules, WrongArgumentsAreErrors) {
  test::expect_error([] { ExponentialDecay(0.1, 0, 0.5); }, {"decay_steps", "positive"});
  test::expect_error([] { PiecewiseConstantDecay({1, 2}, {0.1}); }, {"boundaries", "values"});
}

}  // namespace
}  // namespace cohort::optimizers::schedules
