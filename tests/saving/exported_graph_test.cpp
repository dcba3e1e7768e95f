#include "cohort/saving/exported_graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cohort/core/random.h"
#include "cohort/files/atomic_file.h"
#include "cohort/layers/core/dense.h"
#include "cohort/layers/core/embedding.h"
#include "cohort/layers/merging/concatenate.h"
#include "cohort/layers/normalization/batch_normalization.h"
#include "cohort/layers/preprocessing/string_lookup.h"
#include "cohort/layers/recurrent/lstm.h"
#include "cohort/layers/regularization/dropout.h"
#include "cohort/model/layer/input_layer.h"
#include "cohort/model/sequential.h"
#include "cohort/saving/hdf5/hdf5_file.h"
#include "tests/support/error_of.h"
#include "tests/support/paths.h"

namespace cohort {
namespace {

using test::error_of;
using testing::HasSubstr;

class ExportedGraphTest : public testing::Test {
 protected:
  ExportedGraphTest() { set_random_seed(2); }
  const test::TemporaryFolder folder_;
  const std::string path_ = folder_.file("model.graph");
  const Tensor x_ = Tensor::of<float>({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, {4, 3});
};

TEST_F(ExportedGraphTest, GivesTheModelsBits) {
  Sequential model({make<InputLayer>(Shape{3}), layers::Dense(8, {.activation = "gelu"}), layers::BatchNormalization(),
                    layers::Dropout(0.5), layers::Dense(2)});
  model.export_graph(path_);
  const ExportedModel exported = load_exported(path_);
  EXPECT_EQ(exported.name(), model.name());
  EXPECT_EQ(exported.serve(x_).to_vector<float>(), model.predict_on_batch(x_).to_vector<float>());
  // Any batch, and unchanged by what the model learns later.
  const std::vector<float> one = exported.serve(x_.rows(1, 1)).to_vector<float>();
  model.set_weights(std::vector<Tensor>(model.get_weights()));
  model.compile({.optimizer = "sgd", .loss = "mse"});
  model.train_on_batch(x_, Tensor::of(std::vector<float>(8, 1.0f), {4, 2}));
  EXPECT_EQ(exported.serve(x_.rows(1, 1)).to_vector<float>(), one);
  EXPECT_NE(model.predict_on_batch(x_.rows(1, 1)).to_vector<float>(), one);
}

TEST_F(ExportedGraphTest, KeepsStructuresStringsAndLoops) {
  const layers::StringLookup lookup({.vocabulary = std::vector<std::string>{"a", "b"}});
  const SymbolicTensor words = Input({3}, {.dtype = DType::String, .name = "words"});
  const SymbolicTensor numbers = Input({3}, {.name = "numbers"});
  const SymbolicTensor read = layers::LSTM(4)(layers::Embedding(3, 2)(lookup(words)));
  Model model({words, numbers}, {layers::Dense(2)(layers::Concatenate()({read, numbers})), read});
  model.export_graph(path_);
  const Element inputs = Element::tuple({Tensor::of_strings({"a", "b", "c", "b", "b", "a"}, {2, 3}), x_.rows(0, 2)});
  const ExportedModel exported = load_exported(path_);
  const Tensors seen = exported.serve_element(inputs).flatten(),
                expected = model.predict_on_batch_element(inputs).flatten();
  ASSERT_EQ(seen.size(), 2u);
  for (std::size_t i = 0; i < 2; ++i) EXPECT_EQ(seen[i].to_vector<float>(), expected[i].to_vector<float>());
  EXPECT_THAT(error_of([&] {
                exported.serve(TensorArgument(std::vector<Tensor>{inputs[0].leaf(), x_.rows(0, 2)}));
              }),
              HasSubstr("a model of one output is expected"));
  EXPECT_THAT(error_of([&] { exported.serve_element(x_); }), HasSubstr("the structure of its signature"));
}

TEST_F(ExportedGraphTest, AModelThatDoesNotKnowItsInputsIsTold) {
  Sequential model({layers::Dense(2)});
  EXPECT_THAT(error_of([&] { model.export_graph(path_); }), HasSubstr("a model that knows its inputs is expected"));
  model.export_graph(path_, {.input_signature = ElementSpec(TensorSpec{DType::Float32, {kUnknown, 3}})});
  EXPECT_EQ(load_exported(path_).serve(x_).to_vector<float>(), model.predict_on_batch(x_).to_vector<float>());
  EXPECT_THAT(error_of([&] { model.export_graph(path_, {.overwrite = false}); }), HasSubstr("AlreadyExists"));
  EXPECT_THAT(error_of([&] { model.export_graph(folder_.file("x.keras")); }), HasSubstr("must end in .graph"));
}

TEST_F(ExportedGraphTest, DamagedFilesAreRefused) {
  Sequential model({make<InputLayer>(Shape{3}), layers::Dense(2)});
  model.export_graph(path_);
  const std::string bytes = read_file(path_);
  EXPECT_THAT(error_of([&] {
                load_exported(path_).serve(Tensor::of<float>({1, 2}, {1, 2}));
              }),
              HasSubstr("an input must have the type and shape of its signature"));
  for (std::size_t size = 0; size < bytes.size(); size += 499) {
    write_file_atomically(path_, bytes.substr(0, size));
    EXPECT_THROW(load_exported(path_), Error) << size;
  }
  model.save_weights(folder_.file("w.weights.h5"));
  EXPECT_THAT(error_of([&] { load_exported(folder_.file("w.weights.h5")); }),
              HasSubstr("a graph written by Model.export_graph is expected"));
}

}  // namespace
}  // namespace cohort
