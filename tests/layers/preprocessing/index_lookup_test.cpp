#include <gtest/gtest.h>

#include <unistd.h>
#include <filesystem>
#include <fstream>

#include "cohort/datasets/sources/tensor_slices.h"
#include "cohort/layers/preprocessing/integer_lookup.h"
#include "cohort/layers/preprocessing/string_lookup.h"
#include "cohort/saving/config_json.h"
#include "tests/layers/preprocessing/texts.h"
#include "tests/support/op_check.h"

// Numbers of these layers are compared with Keras's in the golden cases; here is what those cannot show.

namespace cohort {
namespace {

using test::expect_error;

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

}  // namespace
}  // namespace cohort
