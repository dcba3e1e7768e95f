// Weights: classes and samples that count more, in the loss and in weighted metrics.
#include <cohort/cohort.h>

#include <cmath>

#include "check.h"

namespace ch = cohort;
namespace ops = ch::ops;

double share_of_ones(ch::Model& model, const ch::Tensor& x) {
  return ops::mean(ops::cast(model.predict(x, {.verbose = 0}) > 0.5, ch::DType::Float32)).item<double>();
}

int main() {
  ch::set_random_seed(18);
  // One sample in ten is of class 1; the two overlap.
  const ch::Tensor label = ops::cast(ops::random_uniform({400, 1}) < 0.1, ch::DType::Float32);
  const ch::Tensor x = label + ops::random_normal({400, 1});

  ch::Sequential model({ch::layers::Dense(1, {.activation = "sigmoid"})});
  model.compile({.optimizer = ch::optimizers::Adam(5e-2),
                 .loss = "binary_crossentropy",
                 .metrics = {"accuracy"},
                 .weighted_metrics = {"accuracy"}});
  model.fit(x, label, {.epochs = 15, .verbose = 0});
  const double plain = share_of_ones(model, x);
  model.fit(x, label, {.epochs = 15, .verbose = 0, .class_weight = {{0, 1.0}, {1, 9.0}}});
  const double balanced = share_of_ones(model, x);
  check(plain < 0.15 && balanced > 0.25,
        "weighted, the rare class is found more often: " + std::to_string(plain) + ", " + std::to_string(balanced));

  // Weights of samples: what counts for nothing does not matter.
  const ch::Tensor weight = ops::reshape(ops::where(label > 0.5, ch::Tensor::scalar(9), 1.0), {-1});
  const ch::Logs all = model.evaluate(x, label, {.verbose = 0, .sample_weight = weight});
  const ch::Tensor hit =
      ops::reshape(ops::equal(ops::cast(model.predict(x, {.verbose = 0}) > 0.5, ch::DType::Float32), label), {-1});
  const ch::Tensor hits = ops::cast(hit, ch::DType::Float32);
  check(std::abs(all["accuracy"] - ops::mean(hits).item<double>()) < 1e-5, "plain accuracy counts every sample once");
  const double weighted = (ops::sum(hits * weight) / ops::sum(weight)).item<double>();
  check(std::abs(all["weighted_accuracy"] - weighted) < 1e-5, "the weighted one by weights");

  // The same as a third component of a dataset.
  const ch::Dataset data = ch::datasets::from_tensor_slices(x, label, weight).batch(50);
  check(std::abs(model.evaluate(data, {.verbose = 0})["loss"] - all["loss"]) < 1e-4, "a dataset may carry the weights");
}
