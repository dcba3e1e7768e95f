// Blocks of convolutions with a pool at the end of each, after VGG: the same few lines make VGG-11, -13, -16 and -19.
// Usage: vgg [--smoke]
#include <cohort/cohort.h>

#include <iostream>
#include <vector>

#include "example_data.h"

namespace ch = cohort;

namespace {

struct Block {
  int convolutions;
  std::int64_t filters;
};

ch::Ref<ch::Model> vgg(const std::vector<Block>& blocks, std::int64_t classes) {
  ch::SymbolicTensor image = ch::Input({28, 28});
  ch::SymbolicTensor x = ch::ops::reshape(image, {-1, 28, 28, 1}) / 255.0;
  for (const Block& block : blocks) {
    for (int i = 0; i < block.convolutions; ++i) {
      x = ch::layers::Conv2D(block.filters, 3, {.padding = "same", .activation = "relu"})(x);
    }
    x = ch::layers::MaxPooling2D(2)(x);
  }
  x = ch::layers::Flatten()(x);
  x = ch::layers::Dense(8 * blocks.back().filters, {.activation = "relu"})(x);
  x = ch::layers::Dropout(0.5)(x);
  return ch::make<ch::Model>(image, ch::layers::Dense(classes)(x));
}

}  // namespace

int main(int count, char** values) {
  const bool smoke = example::is_smoke(count, values);
  ch::set_random_seed(1);
  auto [train, test] = example::images(smoke);
  const std::vector<Block> small = {{1, 8}, {1, 16}}, vgg13 = {{2, 32}, {2, 64}, {2, 128}, {2, 256}};
  const auto model = vgg(smoke ? small : vgg13, 10);
  model->compile({.optimizer = ch::optimizers::Adam(smoke ? 1e-2 : 3e-4),
                  .loss = ch::losses::SparseCategoricalCrossentropy({.from_logits = true}),
                  .metrics = {"accuracy"}});
  model->fit(train.shuffle(60000).batch(64), {.epochs = smoke ? 20 : 5, .verbose = smoke ? 0 : 1});
  std::cout << "Weights: " << model->count_params() << "\n";
  std::cout << "Test accuracy: " << model->evaluate(test.batch(256), {.verbose = 0})["accuracy"] << "\n";
}
