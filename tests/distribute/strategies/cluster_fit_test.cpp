#include <gtest/gtest.h>

#include "cohort/cohort.h"
#include "tests/distribute/strategies/trained_weights.h"
#include "tests/support/same_products.h"

namespace cohort {
namespace {

using cohort::test::values_of;
using distribute::LocalCluster;

Tensor numbers(const Shape& shape, int seed) {
  std::vector<float> values(static_cast<std::size_t>(shape.num_elements()));
  std::uint32_t state = static_cast<std::uint32_t>(seed) * 2654435761u + 1;
  for (float& value : values) {
    state = state * 1664525u + 1013904223u;
    value = static_cast<float>(state >> 8) / 16777216.0f - 0.5f;
  }
  return Tensor::of(values, shape);
}

Dataset data() {
  return datasets::from_tensor_slices(numbers({640, 10}, 1), numbers({640, 10}, 2))
      .shuffle(640, {.seed = 3})
      .repeat()
      .batch(64);
}

struct Trained {
  std::vector<std::vector<float>> weights;
  std::vector<double> loss;
};

Trained train(Ref<Optimizer> optimizer, double dropout = 0.0) {
  Sequential model({layers::Dense(16, {.activation = "relu"}), layers::Dropout(dropout), layers::Dense(10)});
  model.compile({.optimizer = optimizer, .loss = "mse", .metrics = {"mae"}, .steps_per_execution = 4});
  const History history = model.fit(data(), {.epochs = 3, .verbose = 0, .steps_per_epoch = 10});
  return {values_of(model), history["loss"]};
}

class OnTransport : public testing::TestWithParam<const char*> {};

// One worker takes the same batches in the same order as a training without a cluster.
TEST_P(OnTransport, OneWorkerEqualsLocalTrainingBitForBit) {
  for (const char* name : {"sgd", "adam", "rmsprop"}) {
    set_random_seed(7);
    const Trained local = train(name, 0.3);
    LocalCluster cluster({{"worker", 1}, {"ps", 2}}, {.transport = GetParam()});
    set_random_seed(7);
    distribute::ParameterServerStrategy strategy(
        cluster.resolver(), {.variable_partitioner = distribute::FixedShardsPartitioner(2), .transport = GetParam()});
    auto scope = strategy.scope();
    const Trained remote = train(name, 0.3);
    SCOPED_TRACE(name);
    cohort::test::expect_same_training(local.weights, remote.weights);
    EXPECT_EQ(local.loss.size(), remote.loss.size());
    for (std::size_t i = 0; i < local.loss.size(); ++i) EXPECT_NEAR(local.loss[i], remote.loss[i], 1e-6) << name;
  }
}

TEST_P(OnTransport, ThreeWorkersLearn) {
  LocalCluster cluster({{"worker", 3}, {"ps", 2}}, {.transport = GetParam()});
  distribute::ParameterServerStrategy strategy(cluster.resolver(), {.transport = GetParam()});
  auto scope = strategy.scope();
  Sequential model({layers::Dense(10)});
  model.compile({.optimizer = optimizers::SGD(0.1), .loss = "mse", .steps_per_execution = 10});
  const Tensor x = numbers({640, 10}, 1);
  const History history = model.fit(DatasetCreator([&](const InputContext& context) {
                                      return datasets::from_tensor_slices(x, x)
                                          .shard(context.num_input_pipelines, context.input_pipeline_id)
                                          .shuffle(1000)
                                          .repeat()
                                          .batch(64)
                                          .prefetch(2);
                                    }),
                                    {.epochs = 10, .verbose = 0, .steps_per_epoch = 60});
  EXPECT_LT(history["loss"].back(), history["loss"].front() / 2);
  EXPECT_EQ(read_now(model.optimizer()->iterations()).item<std::int64_t>(), 600);
  const Logs logs = model.evaluate(datasets::from_tensor_slices(x, x).batch(100), {.verbose = 0});
  const Tensor predicted = model.predict(datasets::from_tensor_slices(x).batch(100), {.verbose = 0});
  ASSERT_EQ(predicted.shape(), Shape({640, 10}));
  const std::vector<float> given = x.to_vector<float>(), got = predicted.to_vector<float>();
  double error = 0.0;
  for (std::size_t i = 0; i < given.size(); ++i) error += (given[i] - got[i]) * (given[i] - got[i]);
  EXPECT_NEAR(logs.at("loss"), error / static_cast<double>(given.size()), 1e-5);
}

INSTANTIATE_TEST_SUITE_P(Transports, OnTransport, testing::Values("auto", "grpc"));

}  // namespace
}  // namespace cohort
