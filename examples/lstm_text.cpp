// Classifies sentences of different lengths with an LSTM; padding is masked out.
// Usage: lstm_text [--smoke]
#include <cohort/cohort.h>

#include <iostream>

#include "example_data.h"

namespace ch = cohort;

int main(int count, char** values) {
  const bool smoke = example::is_smoke(count, values);
  ch::set_random_seed(1);
  const std::int64_t words = smoke ? 40 : 2000, length = smoke ? 12 : 80;
  const auto [x, y] = example::sentences(smoke ? 256 : 8192, length, words);
  ch::Sequential model({
      ch::layers::Embedding(words, 32, {.mask_zero = true}),
      ch::layers::Bidirectional(ch::layers::LSTM(32)),
      ch::layers::Dense(1, {.activation = "sigmoid"}),
  });
  model.compile(
      {.optimizer = ch::optimizers::Adam(smoke ? 1e-2 : 1e-3), .loss = "binary_crossentropy", .metrics = {"accuracy"}});
  const ch::History history =
      model.fit(x, y, {.batch_size = 32, .epochs = smoke ? 6 : 3, .verbose = smoke ? 0 : 1, .validation_split = 0.2});
  std::cout << "Validation accuracy: " << history["val_accuracy"].back() << "\n";
}
