#include "cohort/saving/legacy/legacy_h5.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "cohort/core/error.h"
#include "cohort/core/random.h"
#include "cohort/layers/attention/group_query_attention.h"
#include "cohort/layers/core/dense.h"
#include "cohort/layers/core/layer_scale.h"
#include "cohort/layers/merging/add.h"
#include "cohort/layers/merging/concatenate.h"
#include "cohort/layers/preprocessing/string_lookup.h"
#include "cohort/layers/recurrent/bidirectional.h"
#include "cohort/layers/recurrent/lstm.h"
#include "cohort/losses/losses.h"
#include "cohort/model/layer/input_layer.h"
#include "cohort/model/sequential.h"
#include "cohort/model/symbols/symbolic_ops.h"
#include "cohort/optimizers/optimizers.h"
#include "cohort/saving/hdf5/hdf5_file.h"
#include "cohort/saving/keras_archive.h"
#include "cohort/saving/legacy/legacy_json.h"
#include "cohort/saving/legacy/legacy_weights.h"
#include "cohort/saving/model_json.h"
#include "tests/support/error_of.h"
#include "tests/support/paths.h"

namespace cohort {
namespace {

using test::error_of;
using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::vector<double>> numbers(const Variables& variables) {
  std::vector<std::vector<double>> result;
  for (const Variable& variable : variables) result.push_back(read_now(variable).to_vector<double>());
  return result;
}

class LegacyScale : public Layer {
 public:
  void build(const Shape& input) override { gain_ = add_weight("gain", {input.back()}, {.initializer = "ones"}); }
  Tensor call(const Tensor& x, const CallContext&) override { return run_op("Multiply", {x, gain_.value()}); }

 private:
  Variable gain_;
};
COHORT_REGISTER_LAYER("legacy_test", LegacyScale);

class LegacyH5Test : public testing::Test {
 protected:
  LegacyH5Test() { set_random_seed(1); }
  const Tensor x_ = Tensor::of<float>({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, {4, 3});
  const Tensor y_ = Tensor::of<float>({1, 0, 0, 1, 1, 1, 0, 0}, {4, 2});

  void trained(Model& model, const TensorArgument& x) {
    model.compile({.optimizer = optimizers::Adam(0.01), .loss = losses::MeanSquaredError(), .metrics = {"mae"}});
    model.fit(x, y_, {.batch_size = 2, .epochs = 2, .verbose = 0});
  }
  // Saves, loads and trains on: everything stays the same.
  void expect_comes_back(Model& model, const TensorArgument& x) {
    const std::string path = folder_.file("deep/model.h5");
    model.save(path);
    const Ref<Model> loaded = load_model(path);
    EXPECT_EQ(model_to_json(*loaded), model_to_json(model));
    EXPECT_EQ(numbers(loaded->weights()), numbers(model.weights()));
    ASSERT_TRUE(loaded->compiled());
    EXPECT_EQ(numbers(loaded->optimizer()->variables()), numbers(model.optimizer()->variables()));
    EXPECT_EQ(loaded->predict(x, {.verbose = 0}).to_vector<float>(),
              model.predict(x, {.verbose = 0}).to_vector<float>());
    loaded->train_on_batch(x, y_);
    model.train_on_batch(x, y_);
    EXPECT_EQ(numbers(loaded->weights()), numbers(model.weights()));
    EXPECT_FALSE(load_model(path, {.compile = false})->compiled());
  }
  const test::TemporaryFolder folder_;
};

TEST_F(LegacyH5Test, ASequentialComesBackWithItsOptimizer) {
  Sequential model({layers::Dense(4, {.activation = "relu"}), make<LegacyScale>(), layers::Dense(2, {.name = "top"})});
  trained(model, x_);
  expect_comes_back(model, x_);
}

TEST_F(LegacyH5Test, NestedAndSharedLayersComeBack) {
  const SymbolicTensor inside = Input({3});
  const auto inner = make<Model>(inside, Symbols(layers::Dense(2)(layers::Dense(4)(inside))), ModelOptions{"inner"});
  const SymbolicTensor a = Input({3}), b = Input({3});
  const layers::Dense shared(3);
  Model model({a, b}, layers::Dense(2)(layers::Concatenate()({inner(shared(a)), inner(shared(b)), shared(a)})));
  const TensorArgument x(std::vector<Tensor>{x_, x_});
  trained(model, x);
  expect_comes_back(model, x);
}

TEST_F(LegacyH5Test, RecurrentLayersComeBack) {
  const Tensor steps = Tensor::of(x_.to_vector<float>(), {4, 3, 1});
  Sequential model({layers::Bidirectional(layers::LSTM(3, {.return_sequences = true})), layers::LSTM(2)});
  trained(model, steps);
  expect_comes_back(model, steps);
}

TEST_F(LegacyH5Test, TheFileIsLaidOutAsKerasDoes) {
  Sequential model({make<InputLayer>(Shape{3}), layers::Dense(2, {.name = "b"}), layers::Dense(2, {.name = "a"})},
                   {.name = "m"});
  trained(model, x_);
  model.save(folder_.file("m.h5"));
  const Hdf5File file = Hdf5File::open(folder_.file("m.h5"));
  EXPECT_EQ(file.string_attribute("", "keras_version"), "3.15.1");
  EXPECT_EQ(file.string_attribute("", "backend"), "tensorflow");
  EXPECT_THAT(file.string_attribute("", "model_config"), testing::StartsWith("{\"class_name\":\"Sequential\""));
  EXPECT_THAT(file.string_attribute("", "model_config"), testing::Not(HasSubstr("build_config")));
  EXPECT_THAT(file.string_attribute("", "training_config"), HasSubstr("\"optimizer_config\":{\"class_name\":\"Adam\""));
  EXPECT_THAT(file.string_attribute("", "training_config"), HasSubstr("\"loss\":{\"class_name\":\"MeanSquaredError\""));
  EXPECT_THAT(file.strings_attribute("model_weights", "layer_names"), ElementsAre("b", "a"));
  EXPECT_THAT(file.strings_attribute("model_weights/a", "weight_names"), ElementsAre("m/a/kernel", "m/a/bias"));
  EXPECT_TRUE(file.is_dataset("model_weights/a/m/a/kernel"));
  EXPECT_TRUE(file.strings_attribute("model_weights/top_level_model_weights", "weight_names").empty());
  EXPECT_EQ(file.strings_attribute("optimizer_weights", "weight_names")[2], "adam/m_b_kernel_momentum");
}

TEST_F(LegacyH5Test, OperationsAreKnownByTheirBareNames) {
  const SymbolicTensor x = Input({3});
  const Model model(x, Symbols(layers::Add()({2.0 * x, ops::sin(x + 3.0)})));
  Json config = legacy_model_config(model);
  // As Keras writes them, the layer Add beside the operation.
  for (Json& layer : config["config"]["layers"]) {
    layer.erase("module");
    layer.erase("registered_name");
  }
  EXPECT_EQ(model_to_json(*model_from_legacy_config(config)), model_to_json(model));
}

TEST_F(LegacyH5Test, ClassesHaveTheNamesThatKerasLooksFor) {
  const SymbolicTensor x = Input({3, 4});
  const Model model(x, layers::LayerScale(0.1, 4)(layers::GroupQueryAttention(2, 4, 2)(x, x)));
  const Json config = legacy_model_config(model);
  EXPECT_EQ(config["config"]["layers"][1]["class_name"], "GroupedQueryAttention");
  EXPECT_FALSE(config["config"]["layers"][1].contains("module"));
  EXPECT_EQ(config["config"]["layers"][2]["module"], "keras.src.applications.convnext");
  EXPECT_EQ(model_to_json(*model_from_legacy_config(config)), model_to_json(model));
}

TEST_F(LegacyH5Test, LongListsOfNamesAreCutIntoPieces) {
  std::vector<std::string> names;
  for (int i = 0; i < 3001; ++i) names.push_back("a_name_of_a_layer_with_number_" + std::to_string(100000 + i));
  Hdf5File file = Hdf5File::create_image("names");
  file.create_group("g");
  write_names(file, "g", "layer_names", names);
  EXPECT_FALSE(file.has_attribute("g", "layer_names"));
  const std::vector<std::string> first = file.strings_attribute("g", "layer_names0");
  EXPECT_EQ(first.size(), 1501u);
  EXPECT_FALSE(file.has_attribute("g", "layer_names2"));
  EXPECT_EQ(read_names(file, "g", "layer_names"), names);
  // So many short ones have room as text, but not as references.
  write_names(file, "g", "short", std::vector<std::string>(5000, "ab"));
  EXPECT_EQ(read_names(file, "g", "short").size(), 5000u);
  EXPECT_THROW(write_names(file, "g", "long", {std::string(70000, 'x')}), Error);
}

TEST_F(LegacyH5Test, WeightsAloneComeBackInOrderOrByName) {
  Sequential model({make<InputLayer>(Shape{3}), layers::Dense(3, {.name = "a"}), layers::Dense(3, {.name = "b"})});
  Sequential swapped({make<InputLayer>(Shape{3}), layers::Dense(3, {.name = "b"}), layers::Dense(3, {.name = "new"})});
  const auto fresh = numbers(swapped.weights());
  model.save_weights(folder_.file("w.h5"));
  swapped.load_weights(folder_.file("w.h5"), {.by_name = true});
  const auto stored = numbers(model.weights());
  EXPECT_EQ(numbers(swapped.weights()), (std::vector<std::vector<double>>{stored[2], stored[3], fresh[2], fresh[3]}));
  swapped.load_weights(folder_.file("w.h5"));
  EXPECT_EQ(numbers(swapped.weights()), stored);
  model.save(folder_.file("whole.h5"));
  swapped.set_weights(swapped.get_weights());
  swapped.load_weights(folder_.file("whole.h5"));
  EXPECT_EQ(numbers(swapped.weights()), stored);
}

TEST_F(LegacyH5Test, WhatDoesNotFitIsSkippedOnlyWhenAsked) {
  Sequential model({make<InputLayer>(Shape{3}), layers::Dense(3, {.name = "a"}), layers::Dense(2, {.name = "b"})});
  Sequential other({make<InputLayer>(Shape{3}), layers::Dense(3, {.name = "a"}), layers::Dense(4, {.name = "b"})});
  const auto before = numbers(other.weights());
  for (const char* name : {"w.h5", "w.weights.h5", "w.keras"}) {
    const std::string path = folder_.file(name);
    path.ends_with(".keras") ? model.save(path) : model.save_weights(path);
    EXPECT_THAT(error_of([&] { other.load_weights(path); }), HasSubstr("Dense 'b': a stored weight must have"));
    EXPECT_EQ(numbers(other.weights()), before) << name;
  }
  for (const char* name : {"w.h5", "w.weights.h5", "w.keras"}) {
    testing::internal::CaptureStderr();
    other.load_weights(folder_.file(name), {.skip_mismatch = true});
    EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("Dense 'b'")) << name;
    const auto after = numbers(other.weights()), stored = numbers(model.weights());
    EXPECT_EQ(after, (std::vector<std::vector<double>>{stored[0], stored[1], before[2], before[3]}));
    other.get_layer("a")->set_weights(
        {Tensor::of(std::vector<float>(9, 1.0f), {3, 3}), Tensor::of<float>({0, 0, 0}, {3})});
  }
  for (const char* name : {"w.weights.h5", "w.keras"}) {
    EXPECT_THAT(error_of([&] { other.load_weights(folder_.file(name), {.by_name = true}); }),
                HasSubstr("by_name is for legacy .h5 files"));
  }
}

TEST_F(LegacyH5Test, ALearnedVocabularyComesBack) {
  const layers::StringLookup lookup;
  lookup.adapt(Tensor::of_strings({"b", "a", "b"}, {3}));
  const SymbolicTensor words = Input({1}, {.dtype = DType::String});
  Model model(words, lookup(words));
  const Tensor asked = Tensor::of_strings({"a", "b", "c"}, {3, 1});
  for (const char* name : {"v.h5", "v.keras"}) {
    model.save(folder_.file(name));
    const Ref<Model> loaded = load_model(folder_.file(name));
    EXPECT_THAT(loaded->predict(asked, {.verbose = 0}).to_vector<int>(), ElementsAre(2, 1, 0)) << name;
    EXPECT_EQ(model_to_json(*loaded), model_to_json(model));
  }
}

TEST_F(LegacyH5Test, DamagedFilesAreRefusedAndChangeNothing) {
  Sequential model({make<InputLayer>(Shape{3}), layers::Dense(2, {.name = "a"})}, {.name = "m"});
  const std::string path = folder_.file("w.h5");
  const auto before = numbers(model.weights());
  const auto refused = [&](const std::function<void(Hdf5File&)>& write) {
    {
      Hdf5File file = Hdf5File::create(path);
      write(file);
      file.close();
    }
    const std::string text = error_of([&] { model.load_weights(path); });
    EXPECT_EQ(numbers(model.weights()), before);
    return text;
  };
  EXPECT_THAT(refused([](Hdf5File&) {}), HasSubstr("the file must list its layers in layer_names"));
  EXPECT_THAT(refused([](Hdf5File& file) { write_names(file, "", "layer_names", {"a"}); }),
              HasSubstr("every layer of layer_names must have a group"));
  EXPECT_THAT(refused([](Hdf5File& file) {
                write_names(file, "", "layer_names", {"a"});
                file.create_group("a");
                write_names(file, "a", "weight_names", {"kernel", "bias"});
                file.write("a/kernel", Tensor::of<float>({1, 2, 3, 4, 5, 6}, {3, 2}));
              }),
              HasSubstr("/a/bias"));
  EXPECT_THAT(error_of([&] { load_model(path); }), HasSubstr("a file with a model's architecture is expected"));
  EXPECT_THAT(error_of([&] { load_model(folder_.file("none.h5")); }), HasSubstr("none.h5"));
}

}  // namespace
}  // namespace cohort
