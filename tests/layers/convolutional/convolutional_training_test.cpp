// Whole trainings with convolutions and pooling.
#include <gtest/gtest.h>

#include "cohort/core/random.h"
#include "cohort/layers/convolutional/conv1d.h"
#include "cohort/layers/convolutional/conv2d.h"
#include "cohort/layers/convolutional/conv2d_transpose.h"
#include "cohort/layers/convolutional/conv3d.h"
#include "cohort/layers/convolutional/depthwise_conv2d.h"
#include "cohort/layers/convolutional/separable_conv2d.h"
#include "cohort/layers/core/dense.h"
#include "cohort/layers/pooling/max_pooling.h"
#include "cohort/layers/reshaping/flatten.h"
#include "cohort/layers/reshaping/reshape.h"
#include "cohort/model/sequential.h"
#include "cohort/optimizers/optimizers.h"
#include "tests/layers/warm_steps.h"
#include "tests/support/allocations.h"
#include "tests/support/op_check.h"

namespace cohort::layers {
namespace {

Dataset images(std::int64_t count, std::int64_t batch) {
  return Dataset::make("tensor_slices", {},
                       {{"structure", "(**)"},
                        {"tensor_0", test::spread_tensor({count, 8, 8, 3}, -1, 1, float32).to_host()},
                        {"tensor_1", test::spread_tensor({count, 1}, -1, 1, float32, 2).to_host()}})
      .batch(batch);
}

std::vector<Ref<Layer>> model_layers(const Ref<Layer>& first) { return {first, MaxPooling2D(2), Flatten(), Dense(1)}; }

TEST(ConvolutionTraining, AWarmStepAllocatesNothing) {
  if (!test::allocations_are_counted()) GTEST_SKIP() << "a sanitizer owns the heap";
  const std::vector<std::vector<Ref<Layer>>> models = {
      model_layers(Conv2D(16, 3, {.activation = "relu"})),
      model_layers(Conv2D(6, 3, {.padding = "same", .groups = 3, .dtype = "mixed_bfloat16"})),
      model_layers(Conv2D(4, 3, {.strides = 2, .data_format = "channels_first", .dtype = "float64"})),
      model_layers(DepthwiseConv2D(3, {.depth_multiplier = 2})),
      model_layers(SeparableConv2D(4, 3)),
      model_layers(Conv2DTranspose(4, 3, {.strides = 2})),
      {Reshape({64, 3}), Conv1D(4, 3, {.padding = "causal"}), Flatten(), Dense(1)},
      {Reshape({4, 4, 4, 3}), Conv3D(4, 2), Flatten(), Dense(1)},
  };
  for (const std::vector<Ref<Layer>>& layers : models) {
    SCOPED_TRACE(layers[0]->class_name() + layers[1]->class_name());
    Sequential model(layers);
    expect_no_allocations_in_warm_steps(model, images(64, 16));
  }
}

TEST(ConvolutionTraining, LearnsInEveryPrecision) {
  for (const char* policy : {"float32", "mixed_bfloat16", "float64"}) {
    SCOPED_TRACE(policy);
    set_random_seed(4);
    Sequential model({Conv2D(8, 3, {.activation = "relu", .dtype = policy}), MaxPooling2D(2, {.dtype = policy}),
                      SeparableConv2D(8, 2, {.activation = "relu", .dtype = policy}), Flatten(), Dense(1)});
    model.compile({.optimizer = optimizers::Adam(1e-2), .loss = "mse"});
    const History history = model.fit(images(32, 8), {.epochs = 40, .verbose = 0});
    EXPECT_LT(history["loss"].back(), 0.25 * history["loss"].front());
  }
}

TEST(ConvolutionTraining, MixedPrecisionComputesInBfloat16) {
  const Conv2D mixed(4, 3, {.dtype = "mixed_bfloat16"}), plain(4, 3);
  const Tensor x = test::spread_tensor({2, 5, 5, 3}, -1, 1, float32);
  mixed->ensure_built({x.shape()});
  plain->ensure_built({x.shape()});
  plain->set_weights(mixed->get_weights());
  const Tensor y = mixed(x);
  EXPECT_EQ(y.dtype(), bfloat16);
  EXPECT_EQ(mixed->weights().at(0).dtype(), float32);
  test::expect_values(y, plain(x).to_vector<double>(), 3e-2);
}

}  // namespace
}  // namespace cohort::layers
