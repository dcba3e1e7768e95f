// Several inputs: a functional model of named inputs, two of them through one shared layer, fed by dicts and by
// datasets.
#include <cohort/cohort.h>

#include "check.h"

namespace ch = cohort;
namespace layers = ch::layers;

int main() {
  ch::set_random_seed(2);
  const ch::Tensor left = ch::ops::random_normal({192, 6});
  const ch::Tensor right = ch::ops::random_normal({192, 6});
  const ch::Tensor kind = ch::ops::random_uniform({192}, 0, 3, ch::DType::Int32);
  const ch::Tensor factor = ch::ops::expand_dims(ch::ops::cast(kind, ch::DType::Float32), -1);
  const ch::Tensor y = ch::ops::sum(left - right, -1, ch::ops::keep_dims) * 0.3 + factor;

  const ch::SymbolicTensor a = ch::Input({6}, {.name = "left"});
  const ch::SymbolicTensor b = ch::Input({6}, {.name = "right"});
  const ch::SymbolicTensor k = ch::Input({}, {.dtype = ch::DType::Int32, .name = "kind"});
  layers::Dense encoder(16, {.activation = "tanh", .name = "encoder"});
  const ch::SymbolicTensor difference = encoder(a) - encoder(b);
  const ch::SymbolicTensor joined = layers::Concatenate()({difference, layers::Embedding(3, 4)(k)});
  ch::Model model({a, b, k}, layers::Dense(1)(joined));
  check(model.get_layer("encoder")->count_params() == 6 * 16 + 16, "both sides share one encoder");
  check(encoder->trainable_variables().size() == 2, "the encoder has a kernel and a bias");

  model.compile({.optimizer = ch::optimizers::Adam(2e-2), .loss = "mse"});
  const ch::History history =
      model.fit({{"left", left}, {"right", right}, {"kind", kind}}, y, {.batch_size = 16, .epochs = 12, .verbose = 0});
  check(history["loss"].back() < 0.2 * history["loss"].front(), "the loss falls to a fifth");

  const ch::Tensor by_name = model.predict({{"kind", kind}, {"right", right}, {"left", left}}, {.verbose = 0});
  const ch::Tensor by_place = model.predict({left, right, kind}, {.verbose = 0});
  check(ch::ops::all(ch::ops::equal(by_name, by_place)).item<bool>(), "inputs by name and by place give the same");

  const ch::Element features = ch::Element::dict({{"left", left}, {"right", right}, {"kind", kind}});
  const ch::Dataset data = ch::datasets::from_tensor_slices(features, y).batch(32);
  check(model.evaluate(data, {.verbose = 0})["loss"] < 0.2, "a dataset of dicts is evaluated");
}
