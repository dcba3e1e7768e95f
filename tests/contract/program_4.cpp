// A custom loop on a cluster: that of TF_CONFIG, or one of servers in this process.
// clang-format off
#include <cohort/cohort.h>

#include <cstdio>
namespace ch = cohort;
namespace dist = ch::distribute;

// Which of two numbers is larger.
ch::Dataset dataset_fn(const ch::InputContext& context) {
  std::vector<float> numbers;
  std::vector<std::int32_t> labels;
  for (int i = 0; i < 256; ++i) {
    const int first = i % 16, second = i / 16;
    numbers.insert(numbers.end(), {static_cast<float>(first) / 16.0f, static_cast<float>(second) / 16.0f});
    labels.push_back(first > second);
  }
  return ch::datasets::from_tensor_slices(ch::Tensor::of(numbers, {256, 2}), ch::Tensor::of(labels, {256}))
      .shard(context.num_input_pipelines, context.input_pipeline_id).shuffle(256).repeat().batch(32);
}

double train(const dist::ParameterServerStrategy& strategy, int steps) {
  auto scope = strategy.scope();
  ch::Sequential model({ch::layers::Dense(8, {.activation = "relu"}), ch::layers::Dense(2)});
  ch::losses::SparseCategoricalCrossentropy loss_fn({.from_logits = true});
  ch::optimizers::Adam optimizer(0.01);
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

accuracy.reset_state();
for (int i = 0; i < 50; ++i) coordinator.schedule(step, {iterator});
coordinator.join();
return accuracy.result().item<double>();
}

int main() {
  dist::TFConfigClusterResolver resolver;
  if (resolver.task_type() == "worker" || resolver.task_type() == "ps")
    return dist::Server(resolver).join();
  double accuracy = 0.0;
  if (!resolver.cluster_spec().empty()) {
    accuracy = train(dist::ParameterServerStrategy(resolver), 500);
  } else {
    dist::LocalCluster cluster({{"worker", 3}, {"ps", 2}});
    accuracy = train(dist::ParameterServerStrategy(cluster.resolver()), 500);
  }
  std::printf("accuracy %.3f\n", accuracy);
  return accuracy > 0.9 ? 0 : 1;
}
