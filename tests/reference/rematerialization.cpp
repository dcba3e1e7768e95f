// Rematerialization: layers that keep only their inputs in training and compute the rest again, with the same results.
#include <cohort/cohort.h>

#include <cmath>

#include "check.h"

namespace ch = cohort;
namespace ops = ch::ops;

// The history and the weights of the same training, its layers made under a mode or under none.
std::pair<std::vector<double>, std::vector<ch::Tensor>> train(const std::optional<ch::RematMode>& mode) {
  ch::set_random_seed(24);
  const ch::Tensor x = ops::random_normal({128, 16});
  const ch::Tensor y = ops::sum(ops::square(x), -1, ops::keep_dims);
  std::optional<ch::RematScope> scope;
  if (mode) scope.emplace(*mode);
  ch::Sequential model({ch::layers::Dense(64, {.activation = "gelu", .name = "wide"}), ch::layers::Dropout(0.1),
                        ch::layers::Dense(64, {.activation = "gelu"}), ch::layers::Dense(1)});
  scope.reset();
  check(!ch::RematScope::current(), "outside of a scope there is no mode");
  model.compile({.optimizer = ch::optimizers::Adam(1e-2), .loss = "mse"});
  const ch::History history = model.fit(x, y, {.epochs = 6, .verbose = 0, .shuffle = false});
  return {history["loss"], model.get_weights()};
}

int main() {
  const auto [losses, weights] = train(std::nullopt);
  check(losses.back() < 0.7 * losses.front(), "it learns");
  const std::vector<ch::RematMode> modes = {
      {}, {.mode = "list_of_layers", .layer_names = {"wide"}}, {.mode = "larger_than", .output_size_threshold = 512}};
  for (const ch::RematMode& mode : modes) {
    const auto [remat_losses, remat_weights] = train(mode);
    check(std::abs(remat_losses.back() - losses.back()) < 1e-3 * losses.back(),
          mode.mode + ": the losses are the same");
    for (std::size_t i = 0; i < weights.size(); ++i) {
      check(ops::max(ops::abs(weights[i] - remat_weights[i])).item<double>() < 1e-3,
            mode.mode + ": so are the weights");
    }
  }
}
