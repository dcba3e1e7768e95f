// Training on several workers in step: every worker runs this same program, which trains alone just as well.
// Usage: cohort launch --workers 3 -- multi_worker_mirrored [--smoke]
#include <cohort/cohort.h>

#include "example_data.h"

namespace ch = cohort;
namespace dist = cohort::distribute;

int main(int count, char** values) {
  const bool smoke = example::is_smoke(count, values);
  const dist::MultiWorkerMirroredStrategy strategy{dist::TFConfigClusterResolver()};
  auto scope = strategy.scope();
  ch::Sequential model({
      ch::layers::Rescaling(1.0 / 255),
      ch::layers::Flatten(),
      ch::layers::Dense(128, {.activation = "relu"}),
      ch::layers::Dense(10),
  });
  model.compile({.optimizer = "adam",
                 .loss = ch::losses::SparseCategoricalCrossentropy({.from_logits = true}),
                 .metrics = {"accuracy"},
                 .steps_per_execution = 10});
  // All workers are given the whole data; each reads and computes its part of every global batch.
  auto [train, test] = example::images(smoke);
  model.fit(train.shuffle(60000).batch(smoke ? 8 : 128),
            {.epochs = smoke ? 1 : 3,
             .validation_data = test.batch(256),
             .callbacks = {ch::callbacks::BackupAndRestore("backup_in_step")}});
  model.save("in_step.keras");  // the first worker does
}
