// A training loop of one's own: GradientTape, a step compiled by ch::function, metrics kept by hand, clipped gradients.
#include <cohort/cohort.h>

#include "check.h"

namespace ch = cohort;
namespace layers = ch::layers;
namespace ops = ch::ops;

int main() {
  ch::set_random_seed(15);
  const ch::Tensor x = ops::random_normal({240, 2});
  const ch::Tensor label = ops::cast(ops::prod(x, -1) > 0.0, ch::DType::Int32);
  const ch::Dataset data = ch::datasets::from_tensor_slices(x, label).shuffle(240).batch(32);

  ch::Sequential model(
      {layers::Dense(32, {.activation = "relu", .kernel_regularizer = ch::regularizers::L2(1e-4)}), layers::Dense(2)});
  model.build({ch::kUnknown, 2});
  ch::losses::SparseCategoricalCrossentropy loss_fn({.from_logits = true});
  ch::optimizers::Adam optimizer(1e-2, {.global_clipnorm = 1.0});
  ch::metrics::Mean mean_loss;
  ch::metrics::SparseCategoricalAccuracy accuracy;

  const ch::Function step = ch::function([&](const ch::Tensor& features, const ch::Tensor& labels) {
    ch::GradientTape tape;
    const ch::Tensor logits = model(features, {.training = true});
    ch::Tensor loss = loss_fn(labels, logits);
    for (const ch::Tensor& penalty : model.losses()) loss = loss + penalty;
    const ch::Variables weights = model.trainable_variables();
    optimizer.apply(tape.gradient(loss, weights), weights);
    mean_loss.update_state(loss);
    accuracy.update_state(labels, logits);
    return loss;
  });

  std::vector<double> losses;
  for (int epoch = 0; epoch < 20; ++epoch) {
    mean_loss.reset_state();
    accuracy.reset_state();
    ch::Iterator batches = data.iterator();
    for (std::int64_t i = 0; i < data.cardinality(); ++i) {
      const auto [features, labels] = batches.next<2>();
      step(features, labels);
    }
    losses.push_back(mean_loss.result().item<double>());
  }
  check(losses.back() < 0.5 * losses.front(), "the loss is halved");
  check(accuracy.result().item<double>() > 0.9, "the classes are learned");
  check(step.trace_count() <= 2, "the step was traced for the batch and once more for the last, smaller one");
  check(optimizer->iterations().value().item<std::int64_t>() == 20 * 8, "every batch was one update");
}
