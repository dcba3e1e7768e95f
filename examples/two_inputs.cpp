// Two inputs by name, two outputs with a loss and a weight each, and a graph in between: a functional model.
// Usage: two_inputs [--smoke]
#include <cohort/cohort.h>

#include <iostream>

#include "example_data.h"

namespace ch = cohort;
namespace layers = cohort::layers;

int main(int count, char** values) {
  const bool smoke = example::is_smoke(count, values);
  ch::set_random_seed(1);
  // A picture and what is known about it; what it shows, and what it is worth.
  ch::SymbolicTensor image = ch::Input({16, 16, 1}, {.name = "image"}), facts = ch::Input({4}, {.name = "facts"});
  ch::SymbolicTensor x = layers::Conv2D(16, 3, {.activation = "relu"})(image);
  x = layers::GlobalAveragePooling2D()(x);
  x = layers::Concatenate()({x, layers::Dense(16, {.activation = "relu"})(facts)});
  x = layers::Dense(32, {.activation = "relu"})(x);
  ch::Model model(
      ch::Symbols{{"image", image}, {"facts", facts}},
      ch::Symbols{{"kind", layers::Dense(3, {.name = "kind"})(x)}, {"price", layers::Dense(1, {.name = "price"})(x)}});
  model.compile({.optimizer = ch::optimizers::Adam(1e-2),
                 .loss = {{"kind", ch::losses::SparseCategoricalCrossentropy({.from_logits = true})}, {"price", "mse"}},
                 .loss_weights = {{"kind", 1.0}, {"price", 0.2}},
                 .metrics = {{"kind", {"accuracy"}}, {"price", {"mae"}}}});

  const std::int64_t samples = smoke ? 96 : 4096;
  const ch::Tensor kinds = ch::ops::random_uniform({samples}, 0, 3, ch::DType::Int32);
  const ch::Tensor brightness = ch::ops::reshape(ch::ops::cast(kinds, ch::DType::Float32), {-1, 1, 1, 1});
  const ch::Tensor images = brightness + ch::ops::random_uniform({samples, 16, 16, 1});
  const ch::Tensor known = ch::ops::random_uniform({samples, 4});
  const ch::Tensor prices = ch::ops::sum(known, -1, ch::ops::keep_dims);
  const ch::History history = model.fit({{"image", images}, {"facts", known}}, {{"kind", kinds}, {"price", prices}},
                                        {.batch_size = 32, .epochs = smoke ? 30 : 10, .verbose = smoke ? 0 : 1});
  std::cout << "Accuracy: " << history["kind_accuracy"].back() << "\n";
  std::cout << "Price off by: " << history["price_mae"].back() << "\n";
}
