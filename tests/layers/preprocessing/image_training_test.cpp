// Whole trainings with pooling, normalization, regularization and image layers.
#include <gtest/gtest.h>

#include "cohort/core/random.h"
#include "cohort/layers/core/dense.h"
#include "cohort/layers/normalization/batch_normalization.h"
#include "cohort/layers/normalization/group_normalization.h"
#include "cohort/layers/normalization/layer_normalization.h"
#include "cohort/layers/normalization/rms_normalization.h"
#include "cohort/layers/pooling/adaptive_pooling.h"
#include "cohort/layers/pooling/average_pooling.h"
#include "cohort/layers/pooling/global_pooling.h"
#include "cohort/layers/pooling/max_pooling.h"
#include "cohort/layers/preprocessing/random_flip.h"
#include "cohort/layers/preprocessing/random_rotation.h"
#include "cohort/layers/preprocessing/resizing.h"
#include "cohort/layers/regularization/alpha_dropout.h"
#include "cohort/layers/regularization/gaussian_noise.h"
#include "cohort/layers/regularization/spatial_dropout.h"
#include "cohort/layers/reshaping/up_sampling.h"
#include "cohort/model/sequential.h"
#include "cohort/optimizers/optimizers.h"
#include "tests/layers/warm_steps.h"
#include "tests/support/allocations.h"
#include "tests/support/op_check.h"

namespace cohort::layers {
namespace {

Dataset small_images(std::int64_t count, std::int64_t batch) {
  return Dataset::make("tensor_slices", {},
                       {{"structure", "(**)"},
                        {"tensor_0", test::spread_tensor({count, 6, 7, 4}, -1, 1, float32).to_host()},
                        {"tensor_1", test::spread_tensor({count, 1}, -1, 1, float32, 2).to_host()}})
      .batch(batch);
}

TEST(ImageTraining, AWarmStepAllocatesNothing) {
  if (!test::allocations_are_counted()) GTEST_SKIP() << "a sanitizer owns the heap";
  Sequential model({RandomFlip(), RandomRotation(0.1), Resizing(8, 8), Dense(8), BatchNormalization(), MaxPooling2D(),
                    SpatialDropout2D(0.2), LayerNormalization(), UpSampling2D(2, {.interpolation = "bilinear"}),
                    AveragePooling2D(2), GroupNormalization(2), GaussianNoise(0.1), AdaptiveMaxPooling2D(2),
                    AlphaDropout(0.1), RMSNormalization(), GlobalAveragePooling2D(), Dense(1)});
  expect_no_allocations_in_warm_steps(model, small_images(64, 8));
}

TEST(ImageTraining, LearnsInEveryPrecision) {
  for (const char* policy : {"float32", "mixed_bfloat16", "float64"}) {
    SCOPED_TRACE(policy);
    set_random_seed(4);
    Sequential model({Dense(16, {.activation = "relu", .dtype = policy}), BatchNormalization({.dtype = policy}),
                      MaxPooling2D(2, {.dtype = policy}), LayerNormalization({.dtype = policy}),
                      Dense(16, {.activation = "relu", .dtype = policy}), AveragePooling2D(2, {.dtype = policy}),
                      GlobalMaxPooling2D({.dtype = policy}), Dense(1)});
    model.compile({.optimizer = optimizers::Adam(1e-2), .loss = "mse"});
    const History history = model.fit(small_images(32, 8), {.epochs = 60, .verbose = 0});
    EXPECT_LT(history["loss"].back(), 0.25 * history["loss"].front());
  }
}

}  // namespace
}  // namespace cohort::layers
