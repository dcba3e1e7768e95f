#include "cohort/layers/preprocessing/text_vectorization.h"

#include <gtest/gtest.h>

#include "cohort/datasets/sources/tensor_slices.h"
#include "cohort/saving/config_json.h"
#include "tests/layers/preprocessing/texts.h"
#include "tests/support/floats.h"
#include "tests/support/op_check.h"

namespace cohort {
namespace {

using test::expect_error;

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
