#include <gtest/gtest.h>

#include "cohort/datasets/datasets.h"
#include "cohort/distribute/local_cluster.h"
#include "cohort/distribute/strategies/parameter_server_strategy.h"
#include "cohort/distribute/strategies/partitioners.h"
#include "cohort/layers/core/dense.h"
#include "cohort/model/fit/run_control.h"
#include "cohort/model/sequential.h"
#include "cohort/optimizers/adam.h"
#include "cohort/saving/checkpoint_manager.h"
#include "tests/support/paths.h"

namespace cohort {
namespace {

using distribute::FixedShardsPartitioner;
using distribute::LocalCluster;
using distribute::ParameterServerStrategy;

using Values = std::vector<std::vector<float>>;

// Weights and optimizer state, in order.
Values state_of(const Model& model) {
  Values values;
  for (const Variable& each : model.weights()) values.push_back(read_now(each).to_vector<float>());
  for (const Variable& each : model.optimizer()->variables()) values.push_back(read_now(each).to_vector<float>());
  return values;
}

struct ClusterRun {
  ClusterRun() : model({layers::Dense(16, {.activation = "relu"}), layers::Dense(10)}) {
    model.compile({.optimizer = optimizers::Adam(1e-2), .loss = "mse", .steps_per_execution = 2});
    model.build(Shape{kUnknown, 7});
    model.optimizer()->ensure_built(model.trainable_variables());
  }
  Sequential model;
};

Dataset checkpointed_batches() {
  std::vector<float> x(64 * 7), y(64 * 10);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 23) / 23.0f;
  for (std::size_t i = 0; i < y.size(); ++i) y[i] = static_cast<float>(i % 19) / 19.0f;
  return datasets::from_tensor_slices(Tensor::of(x, {64, 7}), Tensor::of(y, {64, 10})).repeat().batch(8);
}

// What the chief does in the middle of a fit: saves in the background, and remembers what it saw.
class SaveEachEpoch : public Callback {
 public:
  SaveEachEpoch(CheckpointManager& manager, Values& saved) : manager_(manager), saved_(saved) {}
  void on_epoch_end(std::int64_t, Logs&) override {
    run().synchronize();
    manager_.save({.position = run().position()});
    saved_ = state_of(model());
  }
  BatchHooks batch_hooks() const override { return BatchHooks::None; }

 private:
  CheckpointManager& manager_;
  Values& saved_;
};

class ClusterCheckpoints : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Transports, ClusterCheckpoints, testing::Values("auto", "grpc"));

TEST_P(ClusterCheckpoints, OfTwoParameterServersAreRestoredOntoOneThreeAndNone) {
  const test::TemporaryFolder folder;
  const std::string directory = folder.file("run");
  const auto strategy_on = [](const LocalCluster& cluster, std::int64_t shards) {
    return ParameterServerStrategy(cluster.resolver(),
                                   {.variable_partitioner = FixedShardsPartitioner(shards), .transport = GetParam()});
  };
  Values saved;
  {
    LocalCluster cluster({{"worker", 2}, {"ps", 2}}, {.transport = GetParam()});
    ParameterServerStrategy strategy = strategy_on(cluster, 2);
    auto scope = strategy.scope();
    ClusterRun trained;
    Checkpoint checkpoint({.model = &trained.model}, {.enable_async = true});
    CheckpointManager manager(checkpoint, directory);
    trained.model.fit(
        checkpointed_batches(),
        {.epochs = 3, .verbose = 0, .steps_per_epoch = 6, .callbacks = {make<SaveEachEpoch>(manager, saved)}});
    ASSERT_EQ(trained.model.weights()[0].shards().size(), 2u);
    ASSERT_EQ(trained.model.optimizer()->variables().back().shards().size(), 2u);
  }
  EXPECT_EQ(checkpoints_in(directory).size(), 3u);
  for (const int servers : {1, 3}) {
    SCOPED_TRACE(servers);
    LocalCluster cluster({{"worker", 1}, {"ps", servers}}, {.transport = GetParam()});
    ParameterServerStrategy strategy = strategy_on(cluster, servers);
    auto scope = strategy.scope();
    ClusterRun other;
    EXPECT_EQ(other.model.weights()[0].shards().size(), static_cast<std::size_t>(servers));
    Checkpoint checkpoint({.model = &other.model});
    const RestoredCheckpoint restored = checkpoint.restore(latest_checkpoint(directory).value());
    EXPECT_EQ(state_of(other.model), saved);
    EXPECT_EQ(restored.number, 3);
    ASSERT_TRUE(restored.position);
    EXPECT_EQ(read_now(other.model.optimizer()->iterations()).item<std::int64_t>(), 18);
    other.model.fit(checkpointed_batches(), {.epochs = 1, .verbose = 0, .steps_per_epoch = 2});
    EXPECT_EQ(read_now(other.model.optimizer()->iterations()).item<std::int64_t>(), 20);
  }
  ClusterRun here;
  Checkpoint({.model = &here.model}).restore(latest_checkpoint(directory).value());
  EXPECT_EQ(state_of(here.model), saved);
}

}  // namespace
}  // namespace cohort
