// Recurrent layers on a cluster beside the same without one.
#include <gtest/gtest.h>

#include "cohort/cohort.h"
#include "tests/distribute/strategies/trained_weights.h"

namespace cohort::distribute {
namespace {

Tensor ids(const Shape& shape, int high) {
  std::vector<std::int32_t> values(static_cast<std::size_t>(shape.num_elements()));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::int32_t>(i * 7 % 11) % high;
  return Tensor::of(values, shape);
}

// Trains a small classifier of sequences; the layer in the middle differs.
cohort::test::WeightValues trained_recurrent(const std::function<Ref<Layer>()>& layer) {
  set_random_seed(5);
  Sequential model({layers::Embedding(10, 4, {.mask_zero = true}), layer(), layers::Dense(2)});
  model.compile({.optimizer = "adam",
                 .loss = losses::SparseCategoricalCrossentropy({.from_logits = true}),
                 .steps_per_execution = 2});
  model.fit(datasets::from_tensor_slices(ids({24, 5}, 10), ids({24}, 2)).batch(6), {.epochs = 2, .verbose = 0});
  return cohort::test::values_of(model);
}

TEST(RecurrentOnACluster, OneWorkerHasTheSameWeights) {
  const std::function<Ref<Layer>()> kinds[] = {
      [] { return layers::LSTM(3); },
      [] { return layers::LSTM(3, {.use_cudnn = false}); },
      [] { return layers::Bidirectional(layers::GRU(3, {.dropout = 0.2, .recurrent_dropout = 0.2})); },
      [] {
        return layers::RNN({layers::LSTMCell(2), layers::GRUCell(3)});
      },
  };
  for (const auto& layer : kinds) {
    SCOPED_TRACE(layer()->class_name());
    cohort::test::expect_same_weights_on_a_cluster([&] { return trained_recurrent(layer); });
  }
}

}  // namespace
}  // namespace cohort::distribute
