// Trains the README's model on Fashion-MNIST on a cluster inside this process (chief, 3 workers, 2 parameter servers),
// with TensorBoard logs and a checkpoint per epoch in the current folder. Interrupted and run again, it goes on. With
// --cluster tf_config it leads the cluster that TF_CONFIG names, whose other tasks are `cohort server`s.
// Usage: quickstart [--epochs N] [--data FOLDER] [--seed N] [--cluster tf_config]
#include <cohort/cohort.h>

#include <cstdint>
#include <iostream>
#include <memory>
#include <optional>
#include <string>

namespace ch = cohort;

namespace {

struct Arguments {
  int epochs = 5;
  std::string data, cluster;
  std::uint64_t seed = 0;
};

Arguments parse(int count, char** values) {
  Arguments arguments;
  for (int i = 1; i < count; i += 2) {
    const std::string name = values[i];
    const std::string value = i + 1 < count ? values[i + 1] : "";
    if (name == "--epochs") {
      arguments.epochs = std::stoi(value);
    } else if (name == "--data") {
      arguments.data = value;
    } else if (name == "--cluster" && value == "tf_config") {
      arguments.cluster = value;
    } else if (name == "--seed") {
      arguments.seed = std::stoull(value);
    } else {
      throw ch::invalid_argument("quickstart", "--epochs N, --data FOLDER, --seed N or --cluster tf_config is expected",
                                 {{"argument", name}});
    }
  }
  return arguments;
}

void train(const Arguments& arguments) {
  ch::set_random_seed(arguments.seed);
  auto [train, test] = ch::datasets::fashion_mnist({.folder = arguments.data});
  std::optional<ch::distribute::LocalCluster> cluster;
  if (arguments.cluster.empty()) cluster.emplace(std::vector<std::pair<std::string, int>>{{"worker", 3}, {"ps", 2}});
  ch::distribute::ParameterServerStrategy strategy =
      cluster ? ch::distribute::ParameterServerStrategy(cluster->resolver())
              : ch::distribute::ParameterServerStrategy(ch::distribute::TFConfigClusterResolver());
  auto scope = strategy.scope();
  ch::Sequential model({
      ch::layers::Rescaling(1.0 / 255),
      ch::layers::Flatten(),
      ch::layers::Dense(128, {.activation = "relu"}),
      ch::layers::Dropout(0.2),
      ch::layers::Dense(10),
  });
  model.compile({.optimizer = ch::optimizers::Adam(1e-3),
                 .loss = ch::losses::SparseCategoricalCrossentropy({.from_logits = true}),
                 .metrics = {"accuracy"},
                 .steps_per_execution = 10});
  const ch::DatasetCreator shards([train](const ch::InputContext& context) {
    return train.shard(context.num_input_pipelines, context.input_pipeline_id).shuffle(60000).batch(64);
  });
  model.fit(shards,
            {.epochs = arguments.epochs,
             .validation_data = test.batch(256),
             .callbacks = {ch::callbacks::TensorBoard({.log_dir = "logs", .histogram_freq = 1, .write_images = true}),
                           ch::callbacks::ModelCheckpoint("ckpt/{epoch:02d}.keras"),
                           ch::callbacks::BackupAndRestore("backup")}});  // last: it saves what the others did
  model.summary();
  ch::summary::EventWriter("logs/train").add_text("model", "```\n" + model.summary_text() + "```", 0);
  model.save("model.keras");
  std::cout << "Saved model.keras; checkpoints are in ckpt/, TensorBoard logs in logs/.\n";
}

}  // namespace

int main(int count, char** values) try { train(parse(count, values)); } catch (const std::exception& error) {
  std::cerr << error.what() << "\n";
  return 1;
}
