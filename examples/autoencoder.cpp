// Presses images into 32 numbers and restores them: the model's target is its own input. The encoder is a model of its
// own, taken from the whole.
// Usage: autoencoder [--smoke]
#include <cohort/cohort.h>

#include <iostream>

#include "example_data.h"

namespace ch = cohort;
namespace layers = cohort::layers;

int main(int count, char** values) {
  const bool smoke = example::is_smoke(count, values);
  ch::set_random_seed(1);
  auto [train, test] = example::images(smoke);
  const auto pairs = [](const ch::Dataset& images) {
    return images.map([](ch::Tensor image, ch::Tensor) {
      const ch::Tensor pixels = ch::ops::cast(image, ch::DType::Float32) / 255.0;
      return std::tuple(pixels, pixels);
    });
  };
  ch::SymbolicTensor image = ch::Input({28, 28});
  ch::SymbolicTensor x = layers::Flatten()(image);
  x = layers::Dense(128, {.activation = "relu"})(x);
  const ch::SymbolicTensor code = layers::Dense(32, {.activation = "relu", .name = "code"})(x);
  x = layers::Dense(128, {.activation = "relu"})(code);
  x = layers::Dense(28 * 28, {.activation = "sigmoid"})(x);
  ch::Model model(image, layers::Reshape({28, 28})(x));
  model.compile({.optimizer = ch::optimizers::Adam(1e-3), .loss = "mse"});
  const ch::History history = model.fit(pairs(train).shuffle(60000).batch(smoke ? 8 : 64),
                                        {.epochs = smoke ? 60 : 10, .verbose = smoke ? 0 : 1});
  std::cout << "Loss: " << history["loss"].front() << " then " << history["loss"].back() << "\n";

  ch::Model encoder(image, model.get_layer("code")->output());
  std::cout << "Codes: " << encoder.predict(ch::Tensor::full({3, 28, 28}, 0.5), {.verbose = 0}).shape() << "\n";
}
