// Image augmentation: random layers at the foot of a model, active in training alone, and in a dataset's map.
#include <cohort/cohort.h>

#include "check.h"

namespace ch = cohort;
namespace layers = ch::layers;
namespace ops = ch::ops;

int main() {
  ch::set_random_seed(14);
  // Dark images with a bright row (class 0) or a bright column (class 1) at a random place.
  const ch::Tensor place = ops::random_uniform({160}, 0, 12, ch::DType::Int32);
  const ch::Tensor line = ops::tile(ops::expand_dims(ops::one_hot(place, 12), 1), {1, 12, 1}) * 200.0;
  const ch::Tensor label = ops::random_uniform({160}, 0, 2, ch::DType::Int32);
  const ch::Tensor is_row = ops::reshape(ops::equal(label, 0.0), {-1, 1, 1});
  const ch::Tensor images = ops::expand_dims(ops::where(is_row, ops::swapaxes(line, 1, 2), line), -1);

  auto augment = ch::make<ch::Sequential>(
      {layers::RandomFlip("horizontal"), layers::RandomTranslation(0.1, {-0.2, 0.2}, {.fill_mode = "constant"}),
       layers::RandomBrightness(0.1)},
      {.name = "augment"});
  const ch::Tensor first = augment(images, {.training = true}), second = augment(images, {.training = true});
  check(!ops::all(ops::equal(first, second)).item<bool>(), "every call in training draws anew");
  check(ops::all(ops::equal(augment(images), images)).item<bool>(), "outside training images pass unchanged");

  ch::Sequential model({augment, layers::Rescaling(1.0 / 255), layers::Conv2D(8, 5, {.activation = "relu"}),
                        layers::GlobalMaxPooling2D(), layers::Dense(2)});
  model.compile({.optimizer = ch::optimizers::Adam(1e-2),
                 .loss = ch::losses::SparseCategoricalCrossentropy({.from_logits = true}),
                 .metrics = {"accuracy"}});
  model.fit(images, label, {.epochs = 10, .verbose = 0});
  check(model.evaluate(images, label, {.verbose = 0})["accuracy"] > 0.9, "it learns from changed images");

  layers::RandomZoom zoom(0.2);
  layers::CenterCrop crop(8, 8);
  const ch::Dataset data =
      ch::datasets::from_tensor_slices(images, label)
          .batch(16)
          .map([&](ch::Tensor image, ch::Tensor y) { return std::tuple(crop(zoom(image, {.training = true})), y); },
               {.num_parallel_calls = ch::kAutotune})
          .prefetch(2);
  check(data.iterator().next<2>()[0].shape() == ch::Shape({16, 8, 8, 1}),
        "a dataset zooms and crops ahead of training");
}
