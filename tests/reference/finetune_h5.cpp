// Fine-tuning an .h5: a model is loaded from Keras's older format, its head replaced, its trunk frozen and then thawed.
#include <cohort/cohort.h>

#include "check.h"

namespace ch = cohort;
namespace layers = ch::layers;
namespace ops = ch::ops;

int main() {
  ch::set_random_seed(13);
  const ch::Tensor x = ops::random_normal({240, 12, 12, 1});
  const ch::Tensor bright = ops::cast(ops::mean(x, {1, 2, 3}) > 0.0, ch::DType::Int32);

  // The model that somebody has trained and saved.
  ch::Sequential original({ch::make<ch::InputLayer>(ch::Shape{12, 12, 1}),
                           layers::Conv2D(8, 3, {.activation = "relu", .name = "conv"}),
                           layers::BatchNormalization({.name = "norm"}),
                           layers::GlobalAveragePooling2D({.name = "pool"}), layers::Dense(2, {.name = "logits"})});
  original.compile({.optimizer = ch::optimizers::Adam(1e-2),
                    .loss = ch::losses::SparseCategoricalCrossentropy({.from_logits = true})});
  original.fit(x, bright, {.epochs = 3, .verbose = 0});
  original.save("original.h5");

  const ch::Ref<ch::Model> loaded = ch::load_model("original.h5");
  const ch::Tensor difference = loaded->predict(x, {.verbose = 0}) - original.predict(x, {.verbose = 0});
  check(ops::max(ops::abs(difference)).item<double>() < 1e-6, "the loaded model predicts the same");

  // Without its head, frozen, under one for another task.
  auto trunk = ch::make<ch::Model>(loaded->inputs(), loaded->get_layer("pool")->output());
  trunk->set_trainable(false);
  const std::vector<ch::Tensor> before = trunk->get_weights();
  const ch::SymbolicTensor image = ch::Input({12, 12, 1});
  ch::Model tuned(image, layers::Dense(1)(trunk(image, {.training = false})));
  const ch::Tensor mean = ops::expand_dims(ops::mean(x, {1, 2, 3}), -1);
  tuned.compile({.optimizer = ch::optimizers::Adam(3e-2), .loss = "mse"});
  const ch::History head = tuned.fit(x, mean, {.epochs = 6, .verbose = 0});
  check(head["loss"].back() < 0.5 * head["loss"].front(), "the new head learns");
  const std::vector<ch::Tensor> after = trunk->get_weights();
  for (std::size_t i = 0; i < before.size(); ++i) {
    check(ops::all(ops::equal(before[i], after[i])).item<bool>(), "the frozen trunk and its statistics do not change");
  }

  // The convolution alone is thawed; normalization keeps its statistics.
  trunk->set_trainable(true);
  trunk->get_layer("norm")->set_trainable(false);
  tuned.compile({.optimizer = ch::optimizers::Adam(1e-4), .loss = "mse"});
  check(tuned.trainable_variables().size() == 4, "the convolution and the head are trained");
  tuned.fit(x, mean, {.epochs = 1, .verbose = 0});
  const ch::Tensor kernel = trunk->get_layer("conv")->get_weights().front();
  check(!ops::all(ops::equal(before.front(), kernel)).item<bool>(), "the thawed convolution changes");
}
