#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <iostream>
#include <sstream>

#include "cohort/datasets/sources/whole_files.h"
#include "cohort/datasets/utilities/audio_dataset_from_directory.h"
#include "cohort/datasets/utilities/text_dataset_from_directory.h"
#include "cohort/files/wav.h"
#include "tests/datasets/record_files.h"

namespace cohort::datasets::test {
namespace {

using cohort::test::error_of;
using cohort::test::TemporaryFolder;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::UnorderedElementsAre;
using utils::audio_dataset_from_directory;
using utils::text_dataset_from_directory;
using utils::TextDirectoryOptions;

// What a call prints.
template <class Call>
std::string printed(const Call& call) {
  std::ostringstream text;
  std::streambuf* before = std::cout.rdbuf(text.rdbuf());
  call();
  std::cout.rdbuf(before);
  return text.str();
}

class DirectoryDatasets : public testing::Test {
 protected:
  // 17 texts "0", "1", ...: nine of class a, in two folders, and eight of class B, which comes first.
  void SetUp() override {
    for (int i = 0; i < 17; ++i) {
      const std::string folder = i < 8 ? "B" : i < 12 ? "a" : "a/deeper";
      std::filesystem::create_directories(folder_.path() / folder);
      const std::string number = std::to_string(i);
      write_file(folder_.file(folder + "/t" + (i < 10 ? "0" : "") + number + (i == 3 ? ".TXT" : ".txt")), number);
    }
    std::filesystem::create_directories(folder_.path() / ".hidden");
    write_file(folder_.file(".hidden/t.txt"), "hidden");
    write_file(folder_.file("a/other.csv"), "other");
  }
  utils::DirectoryDataset read(TextDirectoryOptions options) {
    options.batch_size = 0;
    options.verbose = false;
    return text_dataset_from_directory(folder_.path().string(), options);
  }
  TemporaryFolder folder_;
};

std::vector<std::string> labelled(const Dataset& dataset) {
  std::vector<std::string> pairs;
  auto iterator = dataset.make_iterator();
  for (Tensors element; iterator->next(element);) {
    pairs.push_back(element.at(0).to_strings().at(0) + ":" + std::to_string(element.at(1).to_vector<int>().at(0)));
  }
  return pairs;
}

TEST_F(DirectoryDatasets, ClassesAreSortedByBytesAndFilesByPath) {
  const auto [dataset, validation, class_names] = read({.shuffle = false});
  EXPECT_THAT(class_names, ElementsAre("B", "a"));
  EXPECT_FALSE(validation.defined());
  EXPECT_THAT(labelled(dataset), ElementsAre("0:0", "1:0", "2:0", "3:0", "4:0", "5:0", "6:0", "7:0", "8:1", "9:1",
                                             "10:1", "11:1", "12:1", "13:1", "14:1", "15:1", "16:1"));
}

// numpy.random.RandomState(5).shuffle brings the numbers below 17 into 5 1 10 2 11 16 12 7 4 8 9 0 15 6 13 14 3.
TEST_F(DirectoryDatasets, TheSameSeedGivesKerassSplit) {
  std::string said;
  const auto both = [&] {
    utils::DirectoryDataset result;
    said = printed([&] { result = read({.seed = 5, .validation_split = 0.2, .subset = "both"}); });
    return result;
  }();
  EXPECT_EQ(said, "Using 14 files for training.\nUsing 3 files for validation.\n");
  EXPECT_THAT(labelled(both.validation), ElementsAre("13:1", "14:1", "3:0"));
  EXPECT_THAT(labelled(both.dataset), UnorderedElementsAre("5:0", "1:0", "10:1", "2:0", "11:1", "16:1", "12:1", "7:0",
                                                           "4:0", "8:1", "9:1", "0:0", "15:1", "6:0"));
  const Dataset validation = read({.seed = 5, .validation_split = 0.2, .subset = "validation"});
  EXPECT_THAT(labelled(validation), UnorderedElementsAre("13:1", "14:1", "3:0"));
}

TEST_F(DirectoryDatasets, LabelsHaveTheFormAskedFor) {
  const auto first = [&](TextDirectoryOptions options) {
    options.shuffle = false;
    return read(options).dataset.skip(16).iterator().next();
  };
  EXPECT_EQ(first({.label_mode = "int"})[1].leaf().spec(), (TensorSpec{DType::Int32, {}}));
  EXPECT_EQ(first({.label_mode = "binary"})[1].leaf().spec(), (TensorSpec{DType::Float32, {1}}));
  EXPECT_THAT(first({.label_mode = "categorical"})[1].leaf().to_vector<float>(), ElementsAre(0, 1));
  EXPECT_TRUE(first({.label_mode = std::nullopt}).is_leaf());
  EXPECT_TRUE(first({.labels = std::nullopt}).is_leaf());
  // The folders are nothing but places then: the hidden one counts, too.
  std::vector<std::int32_t> given(18, 4);
  given[17] = 9;
  const auto manual = read({.labels = given, .shuffle = false});
  EXPECT_THAT(manual.class_names, ElementsAre("4", "9"));
  EXPECT_EQ(labelled(manual.dataset).back(), "16:9");
}

TEST_F(DirectoryDatasets, ClassNamesChooseAndOrder) {
  const auto one = read({.class_names = {"a"}, .shuffle = false});
  EXPECT_EQ(labelled(one.dataset).front(), "8:0");
  EXPECT_EQ(one.dataset.cardinality(), 9);
  EXPECT_THAT(error_of([&] { read({.class_names = {"c"}}); }),
              HasSubstr("did not match the names of the subdirectories"));
}

TEST_F(DirectoryDatasets, SaysWhatItFound) {
  const std::string folder = folder_.path().string();
  EXPECT_EQ(printed([&] { text_dataset_from_directory(folder); }), "Found 17 files belonging to 2 classes.\n");
  // Without labels all folders count.
  EXPECT_EQ(printed([&] { text_dataset_from_directory(folder, {.labels = std::nullopt}); }), "Found 18 files.\n");
}

TEST_F(DirectoryDatasets, LinkedFoldersAreWalkedOnlyWhenAsked) {
  std::filesystem::create_directory_symlink(folder_.path() / "a/deeper", folder_.path() / "B/link");
  EXPECT_EQ(read({}).dataset.cardinality(), 17);
  EXPECT_EQ(read({.follow_links = true}).dataset.cardinality(), 22);
}

TEST_F(DirectoryDatasets, TextsAreCutAndBatched) {
  const Dataset batches = text_dataset_from_directory(
      folder_.path().string(), {.batch_size = 16, .max_length = 1, .shuffle = false, .verbose = false});
  EXPECT_EQ(batches.cardinality(), 2);
  EXPECT_EQ(batches.skip(1).iterator().next()[0].leaf().to_strings().at(0), "1");
  EXPECT_EQ(lines_of(whole_files({folder_.file("B/t07.txt")}, {.max_length = 0})).at(0), "");
  expect_exact_positions(
      whole_files({folder_.file("B/t07.txt"), folder_.file("a/t10.txt"), folder_.file("a/t11.txt")}));
}

TEST_F(DirectoryDatasets, RefusesWhatKerasRefuses) {
  const auto error = [&](const TextDirectoryOptions& options) { return error_of([&] { read(options); }); };
  EXPECT_THAT(error({.label_mode = "one"}), HasSubstr("`label_mode` argument must be one of"));
  EXPECT_THAT(error({.labels = std::vector<std::int32_t>{1}}), HasSubstr("Expected the lengths of `labels` to match"));
  EXPECT_THAT(error({.labels = std::nullopt, .class_names = {"a"}}), HasSubstr("`class_names`"));
  EXPECT_THAT(error({.label_mode = "binary", .class_names = {"a"}}), HasSubstr("exactly 2 class_names"));
  EXPECT_THAT(error({.seed = 1, .validation_split = 1.5, .subset = "both"}), HasSubstr("must be between 0 and 1"));
  EXPECT_THAT(error({.validation_split = 0.5}), HasSubstr("and inversely"));
  EXPECT_THAT(error({.seed = 1, .validation_split = 0.5, .subset = "all"}), HasSubstr("`subset` must be either"));
  EXPECT_THAT(error({.validation_split = 0.5, .subset = "both"}), HasSubstr("you must provide a `seed`"));
  EXPECT_THAT(error({.seed = 1, .validation_split = 0.01, .subset = "training"}), HasSubstr("No text files found"));
  EXPECT_THAT(error_of([&] { text_dataset_from_directory(folder_.file("none")); }),
              HasSubstr("a folder that can be read"));
}

// Two sounds of different lengths in each of two folders.
TEST(AudioDirectory, PadsToTheLongestOrToTheLengthAskedFor) {
  const TemporaryFolder folder;
  for (const char* name : {"cat", "dog"}) {
    std::filesystem::create_directories(folder.path() / name);
    write_file(folder.file(std::string(name) + "/1.wav"), encode_wav(std::vector<float>{0.5f}, 1, 8000));
    write_file(folder.file(std::string(name) + "/2.wav"), encode_wav(std::vector<float>{0.5f, 0.25f, -0.5f}, 1, 8000));
  }
  const std::string path = folder.path().string();
  const auto longest = audio_dataset_from_directory(path, {.shuffle = false, .verbose = false});
  EXPECT_THAT(texts(longest), ElementsAre("float32(4, 3, 1):0.500000|0.000000|0.000000|0.500000|0.250000|-0.500000|"
                                          "0.500000|0.000000|0.000000|0.500000|0.250000|-0.500000|"
                                          "int32(4,):0.000000|0.000000|1.000000|1.000000|"));
  const auto cut = audio_dataset_from_directory(
      path,
      {.label_mode = std::nullopt, .batch_size = 2, .output_sequence_length = 2, .shuffle = false, .verbose = false});
  EXPECT_THAT(texts(cut), ElementsAre("float32(2, 2, 1):0.500000|0.000000|0.500000|0.250000|",
                                      "float32(2, 2, 1):0.500000|0.000000|0.500000|0.250000|"));
  EXPECT_THAT(error_of([&] { audio_dataset_from_directory(path, {.output_sequence_length = 2, .ragged = true}); }),
              HasSubstr("Cannot set both `ragged` and `output_sequence_length`"));
  EXPECT_THAT(error_of([&] { audio_dataset_from_directory(path, {.ragged = true}); }), HasSubstr("batch_size = 0"));
  EXPECT_THAT(error_of([&] { audio_dataset_from_directory(path, {.sampling_rate = 0}); }),
              HasSubstr("`sampling_rate` should be higher than 0"));
}

}  // namespace
}  // namespace cohort::datasets::test
