// What is saved from variables in shards on two parameter servers goes on on one, on three, and on none.
#include <gtest/gtest.h>

#include <optional>
#include <stdexcept>

#include "cohort/cohort.h"
#include "tests/distribute/strategies/trained_weights.h"
#include "tests/support/paths.h"

namespace cohort::distribute {
namespace {

using cohort::test::TemporaryFolder;
using cohort::test::values_of;
using cohort::test::WeightValues;

constexpr int kEpochs = 4, kSavedEpochs = 2;

// A cluster with that many parameter servers and as many shards of every variable; none: this process alone. One
// worker, so that steps have one order.
class Place {
 public:
  explicit Place(int servers) {
    if (servers == 0) return;
    cluster_.emplace(std::vector<std::pair<std::string, int>>{{"worker", 1}, {"ps", servers}});
    strategy_.emplace(cluster_->resolver(),
                      ParameterServerStrategyOptions{.variable_partitioner = FixedShardsPartitioner(servers)});
    scope_.emplace(strategy_->body());
  }

 private:
  std::optional<LocalCluster> cluster_;
  std::optional<ParameterServerStrategy> strategy_;
  std::optional<StrategyScope> scope_;
};

Dataset sharded_examples() {
  std::vector<float> x(60 * 7), y(60 * 5);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i * 31 % 97) / 97.0f - 0.5f;
  for (std::size_t i = 0; i < y.size(); ++i) y[i] = static_cast<float>(i * 17 % 89) / 89.0f;
  return datasets::from_tensor_slices(Tensor::of(x, {60, 7}), Tensor::of(y, {60, 5})).shuffle(40).batch(8);
}

Sequential make_model() {
  return Sequential({layers::Dense(11, {.activation = "tanh"}), layers::Dropout(0.2), layers::Dense(5)});
}

void compile(Model& model) {
  model.compile({.optimizer = optimizers::Adam(1e-2), .loss = "mse", .steps_per_execution = 3});
}

class CutOff : public Callback {
 public:
  void on_epoch_end(std::int64_t epoch, Logs&) override {
    if (epoch + 1 == kSavedEpochs) throw std::runtime_error("cut off");
  }
  BatchHooks batch_hooks() const override { return BatchHooks::None; }
};

WeightValues weights_and_slots(const Model& model) {
  WeightValues values = values_of(model);
  for (const Variable& slot : model.optimizer()->variables()) values.push_back(read_now(slot).to_vector<float>());
  return values;
}

// The training that is cut off after some epochs, or ends.
WeightValues train_sharded(int servers, const std::vector<Ref<Callback>>& callbacks) {
  const Place place(servers);
  set_random_seed(5);
  Sequential model = make_model();
  compile(model);
  model.fit(sharded_examples(), {.epochs = kEpochs, .verbose = 0, .callbacks = callbacks});
  return weights_and_slots(model);
}

class ShardedSaving : public testing::TestWithParam<int> {
 protected:
  int servers() const { return GetParam(); }
  const TemporaryFolder folder_;
};

TEST_P(ShardedSaving, BackupAndRestoreGoesOnAsIfNothingHadHappened) {
  if (servers() == 0) return;  // where the data stands is said otherwise without a cluster
  const callbacks::BackupAndRestoreOptions options;
  EXPECT_THROW(train_sharded(2, {callbacks::BackupAndRestore(folder_.file("backup"), options), make<CutOff>()}),
               std::runtime_error);
  EXPECT_EQ(train_sharded(servers(), {callbacks::BackupAndRestore(folder_.file("backup"), options)}),
            train_sharded(0, {}));
}

// Trains on two servers and saves there; then restores elsewhere and trains on. All of it must be as without a cluster.
template <class Save, class Restore>
void expect_to_go_on(int servers, const Save& save, const Restore& restore) {
  const auto run = [&](int first_servers, int then_servers) {
    WeightValues saved;
    {
      const Place place(first_servers);
      set_random_seed(5);
      Sequential model = make_model();
      compile(model);
      model.fit(sharded_examples(), {.epochs = kSavedEpochs, .verbose = 0});
      save(model);
      saved = weights_and_slots(model);
    }
    const Place place(then_servers);
    set_random_seed(6);
    const Ref<Model> model = restore();
    EXPECT_EQ(weights_and_slots(*model), saved);
    EXPECT_EQ(model->weights()[0].sharded(), then_servers > 1);
    model->fit(sharded_examples(), {.epochs = 1, .verbose = 0});
    return weights_and_slots(*model);
  };
  EXPECT_EQ(run(2, servers), run(0, 0));
}

// One that is built, for values to be put into.
Ref<Model> built_model() {
  const Ref<Model> model(std::make_shared<Sequential>(
      std::vector<Ref<Layer>>{layers::Dense(11, {.activation = "tanh"}), layers::Dropout(0.2), layers::Dense(5)}));
  compile(*model);
  model->build({8, 7});
  model->optimizer()->build(model->trainable_variables());
  return model;
}

TEST_P(ShardedSaving, KerasFile) {
  const std::string path = folder_.file("model.keras");
  expect_to_go_on(
      servers(), [&](Model& model) { model.save(path); }, [&] { return load_model(path); });
}

TEST_P(ShardedSaving, WeightsFile) {
  const std::string path = folder_.file("model.weights.h5");
  expect_to_go_on(
      servers(), [&](Model& model) { model.save_weights(path); },
      [&] {
        const Ref<Model> model = built_model();
        model->load_weights(path);
        return model;
      });
}

TEST_P(ShardedSaving, Checkpoint) {
  const std::string path = folder_.file("saved");
  expect_to_go_on(
      servers(), [&](Model& model) { cohort::Checkpoint({.model = &model}).write(path); },
      [&] {
        const Ref<Model> model = built_model();
        cohort::Checkpoint({.model = &*model}).read(path);
        return model;
      });
}

INSTANTIATE_TEST_SUITE_P(OntoServers, ShardedSaving, testing::Values(0, 1, 3),
                         [](const auto& info) { return std::to_string(info.param); });

}  // namespace
}  // namespace cohort::distribute
