// Several outputs: a loss, a weight and metrics for each by its name, and predictions taken apart.
#include <cohort/cohort.h>

#include <cmath>

#include "check.h"

namespace ch = cohort;
namespace layers = ch::layers;

int main() {
  ch::set_random_seed(3);
  const ch::Tensor x = ch::ops::random_normal({256, 4});
  const ch::Tensor total = ch::ops::sum(x, -1, ch::ops::keep_dims);
  const ch::Tensor positive = ch::ops::cast(total > 0.0, ch::DType::Float32);

  const ch::SymbolicTensor inputs = ch::Input({4});
  const ch::SymbolicTensor hidden = layers::Dense(32, {.activation = "relu"})(inputs);
  ch::Model model(inputs, ch::Symbols{{"total", layers::Dense(1)(hidden)},
                                      {"positive", layers::Dense(1, {.activation = "sigmoid"})(hidden)}});
  model.compile({.optimizer = ch::optimizers::Adam(1e-2),
                 .loss = {{"total", "mse"}, {"positive", ch::losses::BinaryCrossentropy()}},
                 .loss_weights = {{"total", 0.5}, {"positive", 2.0}},
                 .metrics = {{"total", {"mae"}}, {"positive", {"accuracy", ch::metrics::AUC()}}}});
  const ch::History history =
      model.fit(x, {{"total", total}, {"positive", positive}},
                {.epochs = 15, .verbose = 0, .validation_data = {x, {{"total", total}, {"positive", positive}}}});
  check(history.has("val_total_mae") && history.has("positive_auc"), "figures have their outputs' names");

  const ch::Logs logs = model.evaluate(x, {{"total", total}, {"positive", positive}}, {.verbose = 0});
  check(logs["total_mae"] < 0.3, "the sum is learned");
  check(logs["positive_accuracy"] > 0.9, "its sign is learned");
  const double weighed = 0.5 * logs["total_loss"] + 2.0 * logs["positive_loss"];
  check(std::abs(logs["loss"] - weighed) < 1e-4, "the loss is the weighted sum of the outputs' losses");

  const ch::Element predictions = model.predict_element({x, {}}, {.verbose = 0});
  check(predictions.size() == 2, "there are two outputs");
  const ch::Tensor sums = predictions.find("total")->leaf();
  const double error = ch::ops::mean(ch::ops::abs(sums - total)).item<double>();
  check(std::abs(error - logs["total_mae"]) < 1e-4, "predictions have the error that evaluate reported");
}
