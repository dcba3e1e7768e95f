// Moving statistics and random layers on a cluster beside the same without one.
#include <gtest/gtest.h>

#include "cohort/cohort.h"
#include "tests/distribute/strategies/trained_weights.h"

namespace cohort::distribute {
namespace {

Tensor normalized_inputs(const Shape& shape) {
  std::vector<float> values(static_cast<std::size_t>(shape.num_elements()));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i * 7 % 11) / 5.0f - 1.0f;
  return Tensor::of(values, shape);
}

cohort::test::WeightValues trained_normalization() {
  set_random_seed(5);
  Sequential model({layers::RandomTranslation(0.2, 0.2), layers::Dense(4),
                    layers::BatchNormalization({.momentum = 0.8}), layers::MaxPooling2D(),
                    layers::SpatialDropout2D(0.2), layers::LayerNormalization(), layers::GlobalAveragePooling2D(),
                    layers::GaussianNoise(0.1), layers::Dense(2)});
  model.compile({.optimizer = "adam", .loss = "mse", .steps_per_execution = 2});
  model.fit(datasets::from_tensor_slices(normalized_inputs({24, 4, 4, 3}), normalized_inputs({24, 2})).batch(6),
            {.epochs = 2, .verbose = 0});
  return cohort::test::values_of(model);
}

TEST(NormalizationOnACluster, OneWorkerHasTheSameWeightsAndStatistics) {
  cohort::test::expect_same_weights_on_a_cluster(trained_normalization);
}

// Differences add up: statistics that several workers follow come near those of all data.
TEST(NormalizationOnACluster, ManyWorkersFollowOneStatistic) {
  LocalCluster cluster({{"worker", 3}, {"ps", 1}}, {});
  const ParameterServerStrategy strategy(cluster.resolver(), {});
  auto scope = strategy.scope();
  Sequential model({layers::BatchNormalization({.momentum = 0.9}), layers::Dense(1)});
  model.compile({.optimizer = "sgd", .loss = "mse"});
  std::vector<float> values(64 * 2);
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = i % 2 == 0 ? 3.0f : -1.0f + static_cast<float>(i % 4) * 0.5f;
  const Tensor x = Tensor::of(values, {64, 2});
  model.fit(datasets::from_tensor_slices(x, Tensor::full({64, 1}, 1.0)).repeat().batch(16),
            {.epochs = 1, .verbose = 0, .steps_per_epoch = 150});
  const std::vector<Tensor> weights = model.get_weights();
  EXPECT_NEAR(weights[2].to_vector<float>()[0], 3.0f, 0.05f);
  EXPECT_NEAR(weights[2].to_vector<float>()[1], 0.0f, 0.05f);
  EXPECT_NEAR(weights[3].to_vector<float>()[0], 0.0f, 0.05f);
  EXPECT_NEAR(weights[3].to_vector<float>()[1], 0.25f, 0.05f);
}

}  // namespace
}  // namespace cohort::distribute
