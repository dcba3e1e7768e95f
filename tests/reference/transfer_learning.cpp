// Transfer learning: layers trained on one task, frozen below a new head for another, then thawed for a finer training.
#include <cohort/cohort.h>

#include <algorithm>

#include "check.h"

namespace ch = cohort;
namespace layers = ch::layers;

// The largest change of a model's weights.
double distance(const std::vector<ch::Tensor>& before, const std::vector<ch::Tensor>& after) {
  double largest = 0.0;
  for (std::size_t i = 0; i < before.size(); ++i) {
    largest = std::max(largest, ch::ops::max(ch::ops::abs(before[i] - after[i])).item<double>());
  }
  return largest;
}

int main() {
  ch::set_random_seed(1);
  const ch::Tensor x = ch::ops::random_normal({256, 8});
  const ch::Tensor radius = ch::ops::sqrt(ch::ops::sum(ch::ops::square(x), -1, ch::ops::keep_dims));
  const ch::Tensor far = ch::ops::cast(radius > 2.8, ch::DType::Float32);

  auto features =
      ch::make<ch::Sequential>({layers::Dense(64, {.activation = "relu"}), layers::Dense(16, {.activation = "relu"})});
  ch::Sequential first({features, layers::Dense(1)});
  first.compile({.optimizer = ch::optimizers::Adam(1e-2), .loss = "mse"});
  first.fit(x, radius, {.epochs = 20, .verbose = 0});

  features->set_trainable(false);
  const ch::SymbolicTensor inputs = ch::Input({8});
  const ch::SymbolicTensor encoded = features(inputs, {.training = false});
  ch::Model second(inputs, layers::Dense(1, {.activation = "sigmoid"})(encoded));
  second.compile({.optimizer = ch::optimizers::Adam(3e-2), .loss = "binary_crossentropy", .metrics = {"accuracy"}});
  check(second.trainable_variables().size() == 2, "only the head's kernel and bias are trained");

  const std::vector<ch::Tensor> frozen = features->get_weights();
  second.fit(x, far, {.epochs = 15, .verbose = 0});
  check(distance(frozen, features->get_weights()) == 0.0, "frozen weights do not change");
  const double accuracy = second.evaluate(x, far, {.verbose = 0})["accuracy"];
  check(accuracy > 0.75, "the new head learns from the old features: " + std::to_string(accuracy));

  features->set_trainable(true);
  second.compile({.optimizer = ch::optimizers::Adam(1e-4), .loss = "binary_crossentropy", .metrics = {"accuracy"}});
  second.fit(x, far, {.epochs = 2, .verbose = 0});
  const double change = distance(frozen, features->get_weights());
  check(change > 0.0 && change < 0.1, "thawed weights change a little: " + std::to_string(change));
}
