// A small convolutional network on Fashion-MNIST: about 90% after five epochs.
// Usage: convnet [--smoke]
#include <cohort/cohort.h>

#include <iostream>

#include "example_data.h"

namespace ch = cohort;

int main(int count, char** values) {
  const bool smoke = example::is_smoke(count, values);
  ch::set_random_seed(1);
  auto [train, test] = example::images(smoke);
  ch::Sequential model({
      ch::layers::Reshape({28, 28, 1}),
      ch::layers::Rescaling(1.0 / 255),
      ch::layers::Conv2D(32, 3, {.activation = "relu"}),
      ch::layers::MaxPooling2D(2),
      ch::layers::Conv2D(64, 3, {.activation = "relu"}),
      ch::layers::MaxPooling2D(2),
      ch::layers::Flatten(),
      ch::layers::Dropout(0.5),
      ch::layers::Dense(10),
  });
  model.compile({.optimizer = "adam",
                 .loss = ch::losses::SparseCategoricalCrossentropy({.from_logits = true}),
                 .metrics = {"accuracy"}});
  model.fit(train.shuffle(60000).batch(32), {.epochs = smoke ? 20 : 5, .verbose = smoke ? 0 : 1});
  model.summary();
  const ch::Logs result = model.evaluate(test.batch(256), {.verbose = 0});
  std::cout << "Test accuracy: " << result["accuracy"] << "\n";
}
