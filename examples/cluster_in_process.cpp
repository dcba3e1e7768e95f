// Training with parameter servers, all tasks in one process: the shortest way to try a cluster.
#include <cohort/cohort.h>

#include <iostream>

namespace ch = cohort;
namespace dist = cohort::distribute;

namespace {

ch::Dataset make_dataset(const ch::InputContext& context) {
  const ch::Tensor x = ch::ops::random_uniform({640, 10}), y = ch::ops::random_uniform({640, 10});
  return ch::datasets::from_tensor_slices(x, y)
      .shard(context.num_input_pipelines, context.input_pipeline_id)
      .shuffle(640)
      .repeat()
      .batch(context.get_per_replica_batch_size(64))
      .prefetch(2);
}

}  // namespace

int main() {
  const dist::LocalCluster cluster({{"worker", 3}, {"ps", 2}});
  std::cout << cluster.spec() << "\n";

  dist::ParameterServerStrategy strategy(
      cluster.resolver(),
      {.variable_partitioner = dist::MinSizePartitioner({.min_shard_bytes = 256 << 10, .max_shards = 2})});
  auto scope = strategy.scope();
  ch::Sequential model({ch::layers::Dense(10)});
  model.compile({.optimizer = ch::optimizers::SGD(), .loss = "mse", .steps_per_execution = 10});
  model.fit(ch::DatasetCreator(make_dataset), {.epochs = 5, .steps_per_epoch = 20});
}
