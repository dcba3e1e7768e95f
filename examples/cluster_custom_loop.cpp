// A custom training loop on a cluster: closures scheduled on workers, variables on parameter servers, metrics on the
// chief. One binary is every task:
//   cluster_custom_loop                                      all tasks in this process
//   TF_CONFIG=... cluster_custom_loop                        the task that TF_CONFIG names
//   TF_CONFIG=... cluster_custom_loop --task_type worker --task_index 0
// `cohort launch --workers 3 --ps 2 -- cluster_custom_loop` sets TF_CONFIG and starts them all.
#include <cohort/cohort.h>

#include <CLI/CLI.hpp>
#include <cstdio>

namespace ch = cohort;
namespace dist = cohort::distribute;

namespace {

constexpr int kHeroes = 7, kNames = 2, kExamples = 200, kBatch = 32;

// An example is two names, numbered; it is "yes" when the first one is a hero of even number.
ch::Dataset make_dataset(const ch::InputContext& context) {
  std::vector<std::int32_t> names;
  std::vector<float> labels;
  std::uint32_t state = 1;
  for (int i = 0; i < kExamples; ++i) {
    for (int k = 0; k < kNames; ++k) {
      state = state * 1664525u + 1013904223u;
      names.push_back(static_cast<std::int32_t>((state >> 16) % kHeroes));
    }
    labels.push_back(names[names.size() - kNames] % 2 == 0 ? 1.0f : 0.0f);
  }
  return ch::datasets::from_tensor_slices(ch::Tensor::of(names, {kExamples, kNames}),
                                          ch::Tensor::of(labels, {kExamples, 1}))
      .shard(context.num_input_pipelines, context.input_pipeline_id)
      .shuffle(kExamples)
      .repeat()
      .batch(kBatch);
}

void train(const dist::ParameterServerStrategy& strategy) {
  auto scope = strategy.scope();
  ch::Sequential model({ch::layers::Flatten(), ch::layers::Dense(16, {.activation = "relu"}), ch::layers::Dense(1)});
  ch::losses::BinaryCrossentropy loss_fn({.from_logits = true});
  ch::optimizers::RMSprop optimizer(0.01);
  ch::metrics::BinaryAccuracy accuracy({.threshold = 0.5});

  dist::ClusterCoordinator coordinator(strategy);
  const dist::PerWorkerValues iterator = coordinator.create_per_worker_dataset(make_dataset).iterator();
  const ch::Function step = ch::function([&](ch::Iterator data) {
    const auto [names, label] = data.next<2>();
    const ch::Tensor x = ch::ops::one_hot(names, kHeroes);
    ch::GradientTape tape;
    const ch::Tensor logits = model(x, {.training = true});
    const ch::Tensor loss = loss_fn(label, logits);
    optimizer.apply(tape.gradient(loss, model.trainable_variables()), model.trainable_variables());
    accuracy.update_state(label, ch::ops::sigmoid(logits));
    return loss;
  });

  constexpr int kEpochs = 4, kSteps = 60;
  dist::RemoteValue last;
  for (int epoch = 0; epoch < kEpochs; ++epoch) {
    accuracy.reset_state();
    for (int i = 0; i < kSteps; ++i) last = coordinator.schedule(step, {iterator});
    coordinator.join();
    std::printf("Finished epoch %d, accuracy is %f.\n", epoch, accuracy.result().item<double>());
  }
  std::printf("Final loss is %f\n", ch::Tensor(last.fetch()).item<double>());
}

void train_in_process() {
  const dist::LocalCluster cluster({{"worker", 3}, {"ps", 2}});
  train(dist::ParameterServerStrategy(cluster.resolver()));
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("A custom training loop on a cluster");
  dist::TFConfigClusterResolverOptions task;
  app.add_option("--task_type", task.task_type, "chief, worker or ps; TF_CONFIG says it otherwise");
  app.add_option("--task_index", task.task_id, "index of the task in its job");
  CLI11_PARSE(app, argc, argv);
  try {
    const dist::TFConfigClusterResolver resolver(task);
    if (resolver.cluster_spec().empty()) {
      train_in_process();
    } else if (resolver.task_type() == "worker" || resolver.task_type() == "ps") {
      return dist::Server(resolver).join();
    } else {
      train(dist::ParameterServerStrategy(resolver));
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
