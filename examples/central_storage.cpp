// Training on several devices in step with all variables on one of them: for tables that are too large to be mirrored.
// Takes the machine's GPUs and keeps variables in the host's memory, or divides the CPU into four.
// Usage: central_storage [--smoke]
#include <cohort/cohort.h>

#include <iostream>

#include "example_data.h"

namespace ch = cohort;
namespace dist = cohort::distribute;

int main(int count, char** values) {
  const bool smoke = example::is_smoke(count, values);
  if (ch::list_physical_devices("GPU").empty()) ch::set_logical_devices("CPU", 4);
  const dist::CentralStorageStrategy strategy;
  auto scope = strategy.scope();
  constexpr std::int64_t kLength = 16;
  const std::int64_t words = smoke ? 100 : 200'000;
  ch::Sequential model({
      ch::layers::Embedding(words, 32),
      ch::layers::GlobalAveragePooling1D(),
      ch::layers::Dense(16, {.activation = "relu"}),
      ch::layers::Dense(1, {.activation = "sigmoid"}),
  });
  model.build({ch::kUnknown, kLength});
  std::cout << strategy.num_replicas_in_sync() << " replicas in step, variables on "
            << model.weights()[0].value().device().name() << "\n";
  model.compile({.optimizer = "adam", .loss = "binary_crossentropy", .metrics = {"accuracy"}});
  // Batches are global ones: every replica takes its rows of each.
  const auto [x, y] = example::sentences(smoke ? 64 : 20'000, kLength, words);
  const ch::Dataset data = ch::datasets::from_tensor_slices(x, y);
  model.fit(data.shuffle(1000).batch(smoke ? 8 : 128), {.epochs = smoke ? 1 : 3, .validation_data = data.batch(256)});
}
