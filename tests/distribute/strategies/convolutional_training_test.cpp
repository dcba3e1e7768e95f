// Convolutions on a cluster beside the same without one.
#include <gtest/gtest.h>

#include "cohort/cohort.h"
#include "tests/distribute/strategies/trained_weights.h"

namespace cohort::distribute {
namespace {

cohort::test::WeightValues trained() {
  set_random_seed(5);
  std::vector<float> pixels(12 * 8 * 8);
  for (std::size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<float>(i * 37 % 101) / 50.0f - 1.0f;
  std::vector<std::int32_t> labels(12);
  for (std::size_t i = 0; i < labels.size(); ++i) labels[i] = static_cast<std::int32_t>(i % 3);
  Sequential model({layers::Conv2D(8, 3, {.padding = "same", .activation = "relu"}), layers::MaxPooling2D(2),
                    layers::DepthwiseConv2D(2), layers::Conv2DTranspose(4, 3, {.strides = 2}),
                    layers::GlobalAveragePooling2D(), layers::Dropout(0.2), layers::Dense(3)});
  model.compile({.optimizer = "adam",
                 .loss = losses::SparseCategoricalCrossentropy({.from_logits = true}),
                 .steps_per_execution = 2});
  model.fit(datasets::from_tensor_slices(Tensor::of(pixels, {12, 8, 8, 1}), Tensor::of(labels, {12})).batch(6),
            {.epochs = 2, .verbose = 0});
  return cohort::test::values_of(model);
}

TEST(ConvolutionsOnACluster, OneWorkerHasTheSameWeights) { cohort::test::expect_same_weights_on_a_cluster(trained); }

}  // namespace
}  // namespace cohort::distribute
