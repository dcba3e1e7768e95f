#include "cohort/saving/keras_archive.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "cohort/core/error.h"
#include "cohort/core/random.h"
#include "cohort/files/atomic_file.h"
#include "cohort/files/zip_archive.h"
#include "cohort/layers/layers.h"
#include "cohort/model/sequential.h"
#include "cohort/optimizers/optimizers.h"
#include "cohort/saving/hdf5/hdf5_file.h"
#include "cohort/saving/model_json.h"
#include "tests/support/elsewhere.h"
#include "tests/support/paths.h"
#include "tests/support/zip_bytes.h"

namespace cohort {
namespace {

using testing::HasSubstr;

std::vector<std::vector<double>> values(const std::vector<Tensor>& tensors) {
  std::vector<std::vector<double>> result;
  for (const Tensor& tensor : tensors) result.push_back(tensor.to_vector<double>());
  return result;
}

class KerasArchiveTest : public testing::Test {
 protected:
  KerasArchiveTest() : model_({layers::Dense(4, {.activation = "relu"}), layers::Dense(2, {.name = "top"})}) {
    set_random_seed(1);
    model_.compile({.optimizer = optimizers::Adam(0.01), .loss = "mse", .metrics = {"mae"}});
    model_.fit(x_, y_, {.batch_size = 2, .epochs = 2, .verbose = 0});
  }
  const Tensor x_ = Tensor::of<float>({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, {4, 3});
  const Tensor y_ = Tensor::of<float>({1, 0, 0, 1, 1, 1, 0, 0}, {4, 2});
  Sequential model_;
  const test::TemporaryFolder folder_;
};

TEST_F(KerasArchiveTest, AModelComesBackWholeAndTrainsOnAlike) {
  model_.save(folder_.file("deep/model.keras"));
  const Ref<Model> loaded = load_model(folder_.file("deep/model.keras"));
  EXPECT_EQ(values(loaded->get_weights()), values(model_.get_weights()));
  EXPECT_EQ(loaded->predict(x_, {.verbose = 0}).to_vector<float>(),
            model_.predict(x_, {.verbose = 0}).to_vector<float>());
  EXPECT_EQ(model_to_json(*loaded), model_to_json(model_));
  loaded->train_on_batch(x_, y_);
  model_.train_on_batch(x_, y_);
  EXPECT_EQ(values(loaded->get_weights()), values(model_.get_weights()));
  EXPECT_FALSE(load_model(folder_.file("deep/model.keras"), {.compile = false})->compiled());
}

TEST_F(KerasArchiveTest, WeightsComeBackAlone) {
  model_.save_weights(folder_.file("model.weights.h5"));
  const auto expected = values(model_.get_weights());
  model_.train_on_batch(x_, y_);
  EXPECT_NE(values(model_.get_weights()), expected);
  model_.load_weights(folder_.file("model.weights.h5"));
  EXPECT_EQ(values(model_.get_weights()), expected);
}

// Files hold whole variables: what one strategy wrote another reads, whatever the number of shards.
TEST_F(KerasArchiveTest, ShardedModelsReadAndWriteTheSameFiles) {
  model_.save(folder_.file("whole.keras"));
  test::Elsewhere place;
  test::Sharding two(2, &place), three(3);
  std::string from = folder_.file("whole.keras");
  for (VariableCreator* creator : std::initializer_list<VariableCreator*>{&two, &three, nullptr}) {
    Ref<Model> loaded;
    {
      StrategyScope scope(creator ? std::make_shared<test::CreatorStrategy>(*creator) : nullptr);
      loaded = load_model(from);
    }
    EXPECT_EQ(loaded->weights()[0].sharded(), creator != nullptr);
    EXPECT_EQ(values(loaded->get_weights()), values(model_.get_weights()));
    loaded->train_on_batch(x_, y_);
    model_.train_on_batch(x_, y_);
    EXPECT_EQ(values(loaded->get_weights()), values(model_.get_weights()));
    from = folder_.file(std::to_string(loaded->weights()[0].shards().size()) + ".keras");
    loaded->save(from);
  }
}

// A weight that training changes after one that it does not.
class Counted : public Layer {
 public:
  void build(const Shape&) override {
    add_weight("count", {}, {.initializer = "zeros", .trainable = false});
    add_weight("gain", {}, {.initializer = "ones"});
  }
  Tensor call(const Tensor& x, const CallContext&) override { return x; }
};

TEST_F(KerasArchiveTest, FreezingALayerDoesNotReorderItsFile) {
  Sequential thawed({make<Counted>()}), frozen({make<Counted>()});
  thawed.build({kUnknown, 3});
  frozen.build({kUnknown, 3});
  thawed.set_weights({Tensor::scalar(5.0f), Tensor::scalar(7.0f)});
  frozen.set_trainable(false);
  thawed.save_weights(folder_.file("thawed.weights.h5"));
  frozen.load_weights(folder_.file("thawed.weights.h5"));
  EXPECT_EQ(values(frozen.get_weights()), values(thawed.get_weights()));
  frozen.save_weights(folder_.file("frozen.weights.h5"));
  EXPECT_EQ(Hdf5File::open(folder_.file("frozen.weights.h5")).read("layers/counted/vars/0").item<float>(), 5.0f);
}

// A second writing differs in the date alone; the weights begin where HDF5 can begin.
TEST_F(KerasArchiveTest, TheArchiveHasKerassMembers) {
  model_.save(folder_.file("model.keras"));
  const ZipArchive archive = ZipArchive::parse(read_file(folder_.file("model.keras")), "model.keras");
  std::vector<std::string> names;
  for (const auto& [name, bytes] : archive.members()) names.push_back(name);
  EXPECT_THAT(names, testing::UnorderedElementsAre("metadata.json", "config.json", "model.weights.h5"));
  model_.save_weights(folder_.file("model.weights.h5"));
  EXPECT_EQ(archive.at("model.weights.h5"), read_file(folder_.file("model.weights.h5")));
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder_.path())) files += entry.exists();
  EXPECT_EQ(files, 2);
}

TEST_F(KerasArchiveTest, WeightsOfAnotherModelChangeNothing) {
  Sequential other({layers::Dense(4), layers::Dense(3)});
  other.predict(x_, {.verbose = 0});
  other.save_weights(folder_.file("other.weights.h5"));
  const auto before = values(model_.get_weights());
  try {
    model_.load_weights(folder_.file("other.weights.h5"));
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("Dense 'top': a stored weight must have the weight's shape. Received: file="));
    EXPECT_THAT(error.what(), HasSubstr("path=layers/dense_1/vars/0"));
  }
  EXPECT_EQ(values(model_.get_weights()), before);
}

TEST_F(KerasArchiveTest, ReplacesAFileOnlyWhenItMay) {
  const std::string path = folder_.file("model.keras");
  model_.save(path);
  EXPECT_THROW(model_.save(path, {.overwrite = false}), Error);
  model_.save(path);
}

TEST_F(KerasArchiveTest, RefusesFilesThatAreNoModels) {
  const std::string path = folder_.file("bad.keras");
  EXPECT_THROW(load_model(folder_.file("nothing.keras")), Error);
  EXPECT_THROW(load_model(folder_.file("model.txt")), Error);
  for (const char* config :
       {"", "[]", "{}", "{\"class_name\": \"Sequential\"}",
        "{\"class_name\": \"Sequential\", \"config\": {\"layers\": 3}}",
        "{\"class_name\": \"Sequential\", \"config\": {\"layers\": [{\"class_name\": \"Nothing\", \"config\": {}}]}}",
        "{\"class_name\": \"Functional\", \"config\": {\"layers\": [], \"input_layers\": [\"a\", 0, 0], "
        "\"output_layers\": []}}"}) {
    write_file_atomically(path, test::zip_bytes({{"config.json", config}, {"model.weights.h5", ""}}));
    EXPECT_THROW(load_model(path), Error) << config;
  }
}

}  // namespace
}  // namespace cohort
