#include <gtest/gtest.h>

#include <unistd.h>
#include <filesystem>
#include <fstream>

#include "cohort/datasets/sources/tensor_slices.h"
#include "cohort/layers/preprocessing/category_encoding.h"
#include "cohort/layers/preprocessing/discretization.h"
#include "cohort/layers/preprocessing/hashing.h"
#include "cohort/layers/preprocessing/integer_lookup.h"
#include "cohort/layers/preprocessing/normalization.h"
#include "cohort/layers/preprocessing/text_vectorization.h"
#include "cohort/saving/config_json.h"
#include "tests/support/op_check.h"

// Numbers of these layers are compared with Keras's in the golden cases; here is what those cannot show.

namespace cohort {
namespace {

using test::expect_error;
using Strings = std::vector<std::string>;

Tensor texts(Strings values) {
  const auto count = static_cast<std::int64_t>(values.size());
  return Tensor::of_strings(std::move(values), {count});
}
Tensor floats(std::vector<float> values, const Shape& shape) { return Tensor::of(values, shape); }

TEST(Normalization, AdaptsToAllBatchesOfADataset) {
  const Tensor data = test::spread_tensor({10, 3}, -2, 5, DType::Float32);
  const layers::Normalization whole, batched;
  whole.adapt(data);
  batched.adapt(datasets::from_tensor_slices(data).batch(4));
  const std::vector<float> want = whole(data).to_vector<float>(), got = batched(data).to_vector<float>();
  for (std::size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(got[i], want[i], 1e-5f);
}

TEST(Normalization, RefusesWhatDoesNotFit) {
  expect_error([] { layers::Normalization({.mean = std::vector<double>{1}}); }, {"mean and variance", "variance=None"});
  expect_error([] { layers::Normalization({.axis = {2}})(floats({1, 2}, {1, 2})); }, {"Normalization '", "axis=2"});
  const layers::Normalization given({.mean = std::vector<double>{1, 2}, .variance = std::vector<double>{1, 2}});
  expect_error([&] { given(floats({1, 2, 3}, {1, 3})); }, {"mean must have a value"});
  expect_error([&] { given.adapt(floats({1, 2}, {1, 2})); }, {"cannot adapt"});
}

TEST(CategoryEncoding, CountsByWeights) {
  const layers::CategoryEncoding count(3, {.output_mode = "count"}), marks(3);
  const Tensor categories = Tensor::of<std::int32_t>({0, 2, 2}, {1, 3}), weights = floats({0.5, 1, 2}, {1, 3});
  const auto with_weights = [&](const layers::CategoryEncoding& layer, const Tensor& by) {
    return layer->apply(Element::dict({{"inputs", categories}, {"count_weights", by}}), {}).leaf();
  };
  EXPECT_EQ(with_weights(count, weights).to_vector<float>(), (std::vector<float>{0.5, 0, 3}));
  expect_error([&] { with_weights(marks, weights); }, {"count_weights need output_mode 'count'"});
  expect_error([&] { with_weights(count, floats({1, 2}, {1, 2})); }, {"count_weights.shape=(1, 2)"});
  expect_error([] { layers::CategoryEncoding(0); }, {"num_tokens=0"});
  expect_error([] { layers::CategoryEncoding(2, {.output_mode = "int"}); }, {"output_mode", "'int'"});
  expect_error([] { layers::CategoryEncoding(2, {.sparse = true}); }, {"sparse"});
}

TEST(Discretization, RefusesWhatDoesNotFit) {
  expect_error([] { layers::Discretization({}); }, {"num_bins or bin_boundaries"});
  expect_error([] { layers::Discretization({.bin_boundaries = std::vector<double>{0}, .num_bins = 2}); }, {"both"});
  expect_error([] { layers::Discretization({.num_bins = 3})(floats({1}, {1})); }, {"Call adapt()"});
  expect_error([] { layers::Discretization({.bin_boundaries = std::vector<double>{0}}).adapt(floats({1}, {1})); },
               {"cannot adapt", "num_bins"});
}

TEST(Hashing, RefusesWhatDoesNotFit) {
  expect_error([] { layers::Hashing(0); }, {"num_bins=0"});
  expect_error([] { layers::Hashing(2, {.salt = std::vector<std::int64_t>{1, 2, 3}}); }, {"salt"});
  expect_error([] { layers::Hashing(2, {.dtype = DType::Float32}); }, {"integer type", "float32"});
  expect_error([] { layers::Hashing(3, {.mask_value = "x"})(Tensor::of<std::int32_t>({1}, {1})); }, {"mask_value"});
}

TEST(StringLookup, TravelsInADatasetsMap) {
  const layers::StringLookup lookup({.vocabulary = Strings{"ant", "bee"}});
  const Dataset data = datasets::from_tensor_slices(texts({"bee", "fly", "ant"})).batch(2).map([=](Tensor words) {
    return lookup(words);
  });
  const Dataset elsewhere = parse_dataset(serialize(data));
  std::vector<std::int64_t> seen;
  Tensors element;
  for (const auto iterator = elsewhere.make_iterator(); iterator->next(element);) {
    for (std::int64_t index : element[0].to_vector<std::int64_t>()) seen.push_back(index);
  }
  EXPECT_EQ(seen, (std::vector<std::int64_t>{2, 0, 1}));
}

TEST(StringLookup, LearnsFromADatasetAndKeepsItInItsAssets) {
  const layers::StringLookup lookup({.max_tokens = 3});
  lookup.adapt(datasets::from_tensor_slices(texts({"b", "a", "b", "c", "c", "b"})).batch(4));
  EXPECT_EQ(lookup.get_vocabulary(), (Strings{"[UNK]", "b", "c"}));
  layers::StringLookupLayer read;
  from_json(read, to_json(*lookup));
  EXPECT_EQ(read.get_vocabulary(false), Strings());  // as in Keras, configs hold what was given only
  read.restore_assets(lookup->assets());
  EXPECT_EQ(read.get_vocabulary(false), (Strings{"b", "c"}));
  EXPECT_EQ(read(texts({"c", "x"})).to_vector<std::int64_t>(), (std::vector<std::int64_t>{2, 0}));
}

TEST(IndexLookups, ReadVocabularyFiles) {
  const auto path = std::filesystem::temp_directory_path() / ("vocabulary_" + std::to_string(::getpid()) + ".txt");
  std::ofstream(path) << "7\n3\n";
  const layers::IntegerLookup numbers;
  numbers->set_vocabulary_file(path.string());
  EXPECT_EQ(numbers.get_vocabulary(false), (std::vector<std::int64_t>{7, 3}));
  std::ofstream(path) << "7\nx\n";
  expect_error([&] { layers::IntegerLookup()->set_vocabulary_file(path.string()); }, {"integer", "line=x"});
  std::filesystem::remove(path);
  expect_error([&] { layers::StringLookup()->set_vocabulary_file(path.string()); }, {"readable"});
}

TEST(IndexLookups, RefuseWhatDoesNotFit) {
  const auto make = [](layers::StringLookupOptions options) { return [=] { layers::StringLookup{options}; }; };
  expect_error(make({.max_tokens = 1}), {"max_tokens=1"});
  expect_error(make({.pad_to_max_tokens = true}), {"pad_to_max_tokens needs max_tokens"});
  expect_error(make({.num_oov_indices = -1}), {"num_oov_indices=-1"});
  expect_error(make({.vocabulary = Strings{"a", "a"}}), {"once", "token=a"});
  expect_error(make({.mask_token = "m", .vocabulary = Strings{"a", "m"}}), {"special tokens", "token=m"});
  expect_error(make({.max_tokens = 2, .vocabulary = Strings{"a", "b"}}), {"larger than max_tokens"});
  expect_error(make({.vocabulary = Strings{"a"}, .output_mode = "tf_idf"}), {"idf_weights"});
  expect_error(make({.idf_weights = std::vector<double>{1}}), {"idf_weights need output_mode 'tf_idf'"});
  expect_error(make({.invert = true, .output_mode = "count"}), {"invert"});
  expect_error(make({.output_mode = "hot"}), {"output_mode", "'hot'"});
  expect_error([] { layers::StringLookup({.output_mode = "count"})(texts({"a"})); }, {"a vocabulary is needed"});
  expect_error([] { layers::StringLookup({.vocabulary = Strings{"a"}}).adapt(texts({"a"})); }, {"cannot adapt"});
  expect_error([] { layers::StringLookup({.num_oov_indices = 0, .vocabulary = Strings{"a"}})(texts({"b"})); },
               {"StringLookup '", "token=b"});
  expect_error([] { layers::IntegerLookup({.vocabulary_dtype = "int32"}); }, {"vocabulary_dtype=int32"});
  expect_error([] { layers::IntegerLookup({.salt = std::vector<std::int64_t>{1}}); }, {"farmhash"});
}

TEST(TextVectorization, LearnsFromADatasetAndKeepsItInItsAssets) {
  const layers::TextVectorization layer({.output_sequence_length = 3});
  layer.adapt(datasets::from_tensor_slices(texts({"the cat", "The dog", "a cat: the end"})).batch(2));
  EXPECT_EQ(layer.get_vocabulary(), (Strings{"", "[UNK]", "the", "cat", "end", "dog", "a"}));
  layers::TextVectorizationLayer read;
  from_json(read, to_json(*layer));
  read.restore_assets(layer->assets());
  EXPECT_EQ(read(texts({"THE bird's cat end"})).to_vector<std::int64_t>(), (std::vector<std::int64_t>{2, 1, 3}));
}

TEST(TextVectorization, RefusesWhatDoesNotFit) {
  const auto make = [](layers::TextVectorizationOptions options) {
    return [=] { layers::TextVectorization{options}; };
  };
  expect_error(make({.standardize = "upper"}), {"standardize=upper"});
  expect_error(make({.split = "lines"}), {"split=lines"});
  expect_error(make({.ngrams = 0}), {"ngrams=0"});
  expect_error(make({.output_mode = "count", .output_sequence_length = 3}), {"output_sequence_length"});
  expect_error(make({.output_sequence_length = 0}), {"output_sequence_length=0"});
  expect_error(make({.ragged = true}), {"ragged"});
  const layers::TextVectorization layer({.vocabulary = Strings{"a"}});
  expect_error([&] { layer(floats({1}, {1})); }, {"TextVectorization '", "texts are expected"});
  expect_error([&] { layer(Tensor::of_strings({"a", "b"}, {1, 2})); }, {"(batch, 1)", "(1, 2)"});
}

}  // namespace
}  // namespace cohort
