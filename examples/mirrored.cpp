// Training on several devices of one machine in step: on all its GPUs, or on devices that are named ("CPU:0 CPU:1").
// Usage: mirrored [--smoke] [device ...]
#include <cohort/cohort.h>

#include <iostream>

#include "example_data.h"

namespace ch = cohort;
namespace dist = cohort::distribute;

int main(int count, char** values) {
  const bool smoke = example::is_smoke(count, values);
  const dist::MirroredStrategy strategy(std::vector<std::string>(values + (smoke ? 2 : 1), values + count));
  std::cout << strategy.num_replicas_in_sync() << " replicas in step\n";
  auto scope = strategy.scope();
  ch::Sequential model({
      ch::layers::Rescaling(1.0 / 255),
      ch::layers::Reshape({28, 28, 1}),
      ch::layers::Conv2D(16, 3, {.activation = "relu"}),
      ch::layers::BatchNormalization({.synchronized = true}),
      ch::layers::MaxPooling2D(),
      ch::layers::Flatten(),
      ch::layers::Dense(10),
  });
  model.compile({.optimizer = "adam",
                 .loss = ch::losses::SparseCategoricalCrossentropy({.from_logits = true}),
                 .metrics = {"accuracy"},
                 .steps_per_execution = 10});
  // Batches are global ones: every replica takes its rows of each.
  auto [train, test] = example::images(smoke);
  model.fit(train.shuffle(60000).batch(smoke ? 8 : 128), {.epochs = smoke ? 1 : 3, .validation_data = test.batch(256)});
}
