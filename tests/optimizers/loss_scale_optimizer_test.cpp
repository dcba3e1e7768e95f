#include <gtest/gtest.h>

#include <limits>

#include "cohort/optimizers/optimizers.h"

namespace cohort {
namespace {

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

}  // namespace
}  // namespace cohort
