// A cluster in one process: fit on parameter servers, a sharded table, and functions handed to workers.
#include <cohort/cohort.h>

#include "check.h"

namespace ch = cohort;
namespace dist = ch::distribute;
namespace ops = ch::ops;

int main() {
  ch::set_random_seed(25);
  const ch::Tensor x = ops::random_uniform({256}, 0, 20, ch::DType::Int32);
  const ch::Tensor y = ops::expand_dims(ops::cast(x, ch::DType::Float32) * 0.1, -1);

  const dist::LocalCluster cluster({{"worker", 2}, {"ps", 2}});
  dist::ParameterServerStrategy strategy(cluster.resolver(), {.variable_partitioner = dist::FixedShardsPartitioner(2)});
  auto scope = strategy.scope();
  ch::Sequential model({ch::make<ch::InputLayer>(ch::Shape{}, ch::InputOptions{.dtype = ch::DType::Int32}),
                        ch::layers::Embedding(20, 4), ch::layers::Dense(1)});
  model.compile({.optimizer = ch::optimizers::Adam(5e-2), .loss = "mse"});
  const ch::DatasetCreator data([&](const ch::InputContext& context) {
    return ch::datasets::from_tensor_slices(x, y)
        .shard(context.num_input_pipelines, context.input_pipeline_id)
        .shuffle(128)
        .repeat()
        .batch(16);
  });
  const ch::History history = model.fit(data, {.epochs = 4, .verbose = 0, .steps_per_epoch = 25});
  check(history["loss"].back() < 0.1 * history["loss"].front(), "two workers learn together");
  check(model.optimizer()->iterations().value().item<std::int64_t>() == 100, "a hundred steps were applied");
  const ch::ShardedVariable table(model.get_layer(0)->trainable_variables().front());
  check(table.variables().size() == 2 && table.shape() == ch::Shape({20, 4}), "the table lies in two shards");

  dist::ClusterCoordinator coordinator(strategy);
  const ch::Function square_sum = ch::function([](const ch::Tensor& v) { return ops::sum(ops::square(v)); });
  std::vector<dist::RemoteValue> results;
  for (int i = 0; i < 6; ++i) results.push_back(coordinator.schedule(square_sum, {ch::Tensor::full({3}, i)}));
  coordinator.join();
  for (std::size_t i = 0; i < results.size(); ++i) {
    const ch::Tensor value = results[i].fetch();
    check(value.item<double>() == 3.0 * static_cast<double>(i * i), "workers compute what they are handed");
  }
}
