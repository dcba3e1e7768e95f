// A Sequential model on Fashion-MNIST, with logs and checkpoints.
// clang-format off
#include <cohort/cohort.h>
namespace ch = cohort;

int main() {                                                     // 1. Sequential
  auto [train, test] = ch::datasets::fashion_mnist();
  ch::Sequential model({
      ch::layers::Rescaling(1.0 / 255),
      ch::layers::Flatten(),
      ch::layers::Dense(128, {.activation = "relu"}),
      ch::layers::Dropout(0.2),
      ch::layers::Dense(10),
  });
  model.compile({.optimizer = ch::optimizers::Adam(1e-3),
                 .loss = ch::losses::SparseCategoricalCrossentropy({.from_logits = true}),
                 .metrics = {"accuracy"},
                 .steps_per_execution = 10});
  ch::History history = model.fit(train.shuffle(60000).batch(64),
                                  {.epochs = 5,
                                   .validation_data = test.batch(256),
                                   .callbacks = {ch::callbacks::TensorBoard({.log_dir = "logs"}),
                                                 ch::callbacks::ModelCheckpoint("ckpt/{epoch:02d}.keras")}});
  model.save("model.keras");
}
