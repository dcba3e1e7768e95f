// A custom loop on a cluster. Compiled, not linked, until the cluster is there.
// clang-format off
#include <cohort/cohort.h>
namespace ch = cohort;
namespace dist = ch::distribute;

void train(dist::ParameterServerStrategy& strategy, ch::Sequential& model, int steps) {
  auto dataset_fn = [](const ch::InputContext&) { return ch::Dataset(); };
  ch::losses::SparseCategoricalCrossentropy loss_fn({.from_logits = true});
  ch::optimizers::SGD optimizer(0.1);
  ch::metrics::SparseCategoricalAccuracy accuracy;

dist::ClusterCoordinator coordinator(strategy);                  // 4. Custom loop on a cluster
auto iterator = coordinator.create_per_worker_dataset(dataset_fn).iterator();
ch::Function step = ch::function([&](ch::Iterator data) {
  auto [x, y] = data.next<2>();
  ch::GradientTape tape;
  ch::Tensor logits = model(x, {.training = true});
  ch::Tensor loss = ch::ops::mean(loss_fn(y, logits));
  optimizer.apply(tape.gradient(loss, model.trainable_variables()), model.trainable_variables());
  accuracy.update_state(y, logits);
  return loss;
});
for (int i = 0; i < steps; ++i) coordinator.schedule(step, {iterator});
coordinator.join();
}
