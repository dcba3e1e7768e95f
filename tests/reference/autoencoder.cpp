// An autoencoder: convolutions down to a code and up again; encoder and decoder are models that share its weights.
#include <cohort/cohort.h>

#include "check.h"

namespace ch = cohort;
namespace layers = ch::layers;
namespace ops = ch::ops;

int main() {
  ch::set_random_seed(19);
  // Images of a bright spot: two numbers, its place, tell all of one.
  const ch::Tensor grid = ops::reshape(ops::linspace(0, 1, 8), {1, 8});
  const auto bump = [&](const ch::Tensor& center) { return ops::exp(-ops::square((grid - center) * 4.0)); };
  const ch::Tensor rows = ops::expand_dims(bump(ops::random_uniform({192, 1})), 2);
  const ch::Tensor columns = ops::expand_dims(bump(ops::random_uniform({192, 1})), 1);
  const ch::Tensor images = ops::expand_dims(rows * columns, -1);

  const ch::SymbolicTensor image = ch::Input({8, 8, 1});
  ch::SymbolicTensor x = layers::Conv2D(8, 3, {.strides = 2, .padding = "same", .activation = "relu"})(image);
  x = layers::Flatten()(x);
  const ch::SymbolicTensor code = layers::Dense(4, {.name = "code"})(x);
  auto encoder = ch::make<ch::Model>(image, code);

  const ch::SymbolicTensor code_input = ch::Input({4});
  x = layers::Dense(4 * 4 * 8, {.activation = "relu"})(code_input);
  x = layers::Reshape({4, 4, 8})(x);
  x = layers::Conv2DTranspose(8, 3, {.strides = 2, .padding = "same", .activation = "relu"})(x);
  auto decoder = ch::make<ch::Model>(code_input, layers::Conv2D(1, 3, {.padding = "same"})(x));

  ch::Model autoencoder(image, decoder(encoder(image)), {.name = "autoencoder"});
  check(autoencoder.outputs().leaf().shape() == ch::Shape({ch::kUnknown, 8, 8, 1}), "what comes out is an image");
  autoencoder.compile({.optimizer = ch::optimizers::Adam(1e-2), .loss = "mse"});
  const ch::History history = autoencoder.fit(images, images, {.batch_size = 16, .epochs = 20, .verbose = 0});
  check(history["loss"].back() < 0.15 * history["loss"].front(), "images come out as they went in");

  const ch::Tensor codes = encoder->predict(images, {.verbose = 0});
  check(codes.shape() == ch::Shape({192, 4}), "a code has four numbers");
  const ch::Tensor difference = decoder->predict(codes, {.verbose = 0}) - autoencoder.predict(images, {.verbose = 0});
  check(ops::max(ops::abs(difference)).item<double>() < 1e-5, "both halves together are the whole");
}
