// Sources of a chain that somebody else has sent read where the one who took it lets them, whoever walks it and when.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "cohort/data/dataset_function.h"
#include "cohort/datasets/builtin/fashion_mnist.h"
#include "cohort/datasets/sources/image_files.h"
#include "cohort/datasets/sources/saved.h"
#include "cohort/datasets/sources/whole_files.h"
#include "cohort/files/data_root.h"
#include "tests/datasets/image_bytes.h"
#include "tests/datasets/record_files.h"

namespace cohort::datasets::test {
namespace {

using cohort::test::error_of;
using cohort::test::TemporaryFolder;
using testing::AllOf;
using testing::HasSubstr;

constexpr const char* kSentHint = "Ask whoever serves.";

Dataset sent(const Dataset& dataset, const std::vector<std::string>& roots) {
  const std::string bytes = serialize(dataset);
  const DataRootScope scope(make_data_roots(roots, kSentHint));
  return parse_dataset(bytes);
}

std::string bytes_of_idx(const std::vector<int>& sizes) {
  std::string bytes{0, 0, 8, static_cast<char>(sizes.size())};
  std::size_t count = 1;
  for (const int size : sizes) {
    bytes += {0, 0, 0, static_cast<char>(size)};
    count *= static_cast<std::size_t>(size);
  }
  return bytes + std::string(count, 'x');
}

// One dataset of every kind of source that reads files, each in a folder of its own.
class SentSources : public testing::Test {
 protected:
  std::string at(const std::string& name) const { return folder_.file(name); }
  std::string text(const std::string& name, const std::string& bytes) const { return write_file(at(name), bytes); }

  std::vector<std::pair<std::string, Dataset>> all_kinds() const {
    {
      TFRecordWriter writer(at("records"));
      writer.write("a record");
      writer.close();
    }
    text("train-images-idx3-ubyte", bytes_of_idx({2, 1, 1}));
    text("train-labels-idx1-ubyte", bytes_of_idx({2}));
    text("t10k-images-idx3-ubyte", bytes_of_idx({2, 1, 1}));
    text("t10k-labels-idx1-ubyte", bytes_of_idx({2}));
    save(range(3), at("saved"));
    std::string npy_header = "{'descr': '|u1', 'fortran_order': False, 'shape': (2,), }";
    npy_header.append(128 - 11 - npy_header.size(), ' ').push_back('\n');
    text("array.npy", std::string("\x93NUMPY\x01\x00", 8) + std::string{static_cast<char>(npy_header.size()), 0} +
                          npy_header + "xy");
    const Dataset names = from_tensor_slices(Tensor::of_strings({text("named", "1\n")}, {1}));
    return {
        {"text_lines", text_lines(text("lines", "one\ntwo\n"))},
        {"packed text_lines", text_lines(text("lines.gz", packed("one\n", true)), {.compression = "gzip"})},
        {"csv", csv(text("table", "1,2\n"), {.tensors = {{.columns = {0}}}, .header = false})},
        {"json_lines", json_lines(text("json", "{\"a\": 1}\n"), {{.name = "a", .dtype = DType::Int64}})},
        {"tf_records", tf_records({at("records")})},
        {"fixed_length_records", fixed_length_records(text("fixed", "abcd"), 2)},
        {"npy", npy(at("array.npy"))},
        {"load", load(at("saved"))},
        {"whole_files", whole_files({text("whole", "whole")})},
        {"image_files", image_files({text("image.png", plain_png(2, 2, 7))}, {.image_size = {2, 2}})},
        {"fashion_mnist", fashion_mnist({.folder = folder_.path().string()}).first},
        {"interleave", names.interleave(DatasetFunction::registered("text_lines"))},
        {"read ahead", names.interleave(DatasetFunction::registered("text_lines"), {.num_parallel_calls = 2})},
    };
  }

  const TemporaryFolder folder_, other_;
};

TEST_F(SentSources, ReadBeneathTheirRootsAlone) {
  for (const auto& [kind, dataset] : all_kinds()) {
    SCOPED_TRACE(kind);
    const std::vector<std::string> expected = texts(dataset);
    EXPECT_FALSE(expected.empty());
    EXPECT_EQ(texts(sent(dataset, {folder_.path().string()}).prefetch(2)), expected);
    EXPECT_EQ(texts(sent(dataset, {"/"})), expected);
    for (const std::vector<std::string>& roots :
         {std::vector<std::string>{}, std::vector<std::string>{other_.path().string()}}) {
      Tensors element;
      EXPECT_THAT(error_of([&] { sent(dataset, roots).prefetch(2).make_iterator()->next(element); }),
                  AllOf(HasSubstr("PermissionDenied"), HasSubstr(kSentHint)));
    }
    // What this process made itself is read as before.
    EXPECT_EQ(texts(dataset), expected);
  }
}

TEST_F(SentSources, AreNotLedOutByALinkThatComesLater) {
  const std::filesystem::path folder = other_.path();
  const Dataset dataset = text_lines(write_file((folder / "lines").string(), "one\n"));
  const Dataset taken = sent(dataset, {folder.string()});
  EXPECT_EQ(texts(taken), texts(dataset));
  std::filesystem::remove(folder / "lines");
  std::filesystem::create_symlink(text("secret", "two\n"), folder / "lines");
  EXPECT_THAT(error_of([&] { texts(taken); }), HasSubstr("PermissionDenied"));
}

TEST_F(SentSources, FetchNothing) {
  const Dataset local = text_lines(text("lines", "one\n"));
  Attributes attributes = local.attributes();
  attributes.set("files", std::vector<std::string>{"http://127.0.0.1:1/lines"});
  const Dataset fetched = Dataset::make(local.kind(), {}, attributes);
  EXPECT_THAT(error_of([&] { texts(sent(fetched, {folder_.path().string()})); }), HasSubstr("PermissionDenied"));
}

TEST_F(SentSources, WriteNoFiles) {
  const Dataset cached = range(3).apply(cache(at("cache")));
  EXPECT_THAT(error_of([&] { sent(cached, {folder_.path().string()}); }),
              AllOf(HasSubstr("PermissionDenied"), HasSubstr(at("cache"))));
  EXPECT_EQ(numbers(sent(cached, {"/"})), numbers(range(3)));
}

}  // namespace
}  // namespace cohort::datasets::test
