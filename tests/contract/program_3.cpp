// Training with parameter servers: one binary for every task.
// clang-format off
#include <cohort/cohort.h>
namespace ch = cohort;

ch::Tensor inputs();
ch::Tensor targets();

int main() {                                                     // 3. Parameter servers: one binary, every task
  namespace dist = ch::distribute;
  dist::TFConfigClusterResolver resolver;                        // or Simple, Kubernetes, Slurm
  if (resolver.task_type() == "worker" || resolver.task_type() == "ps")
    return dist::Server(resolver).join();
  dist::ParameterServerStrategy strategy(
      resolver, {.variable_partitioner = dist::MinSizePartitioner({.min_shard_bytes = 256 << 10, .max_shards = 2})});
  auto scope = strategy.scope();
  ch::Sequential model({ch::layers::Dense(10)});
  model.compile({.optimizer = "sgd", .loss = "mse", .steps_per_execution = 10});
  model.fit(ch::DatasetCreator([](const ch::InputContext& context) {
              auto data = ch::datasets::from_tensor_slices(inputs(), targets());
              return data.shard(context.num_input_pipelines, context.input_pipeline_id)
                  .shuffle(1000).repeat().batch(context.get_per_replica_batch_size(64)).prefetch(2);
            }),
            {.epochs = 5, .steps_per_epoch = 20, .callbacks = {ch::callbacks::BackupAndRestore("backup")}});
}

ch::Tensor inputs() { return ch::Tensor::full({640, 10}, 0.5); }
ch::Tensor targets() { return ch::Tensor::full({640, 10}, 0.25); }
