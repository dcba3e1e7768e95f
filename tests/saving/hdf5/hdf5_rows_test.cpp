#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <hdf5.h>

#include <filesystem>
#include <numeric>

#include "cohort/data/broken_source.h"
#include "cohort/datasets/datasets.h"
#include "cohort/datasets/sources/hdf5.h"
#include "cohort/files/atomic_file.h"
#include "cohort/saving/hdf5/hdf5_file.h"
#include "tests/support/error_of.h"
#include "tests/support/paths.h"

namespace cohort {
namespace {

using cohort::test::error_of;
using testing::ElementsAre;
using testing::HasSubstr;

// How a dataset is stored; no chunk: contiguous.
struct Storage {
  std::vector<hsize_t> chunk = {};
  bool shuffle = false;
  int deflate = 0;
  bool fletcher = false;
};

class Hdf5RowsOfFiles : public testing::Test {
 protected:
  std::string file() const { return folder_.file("a.h5"); }
  // Adds a dataset of 0, 1, ... as int32 to the file.
  //   file_type: of the values in the file.
  void add(const std::string& name, std::vector<hsize_t> shape, const Storage& storage,
           hid_t file_type = H5T_STD_I32LE) {
    const bool exists = std::filesystem::exists(file());
    const hid_t h5 = exists ? H5Fopen(file().c_str(), H5F_ACC_RDWR, H5P_DEFAULT)
                            : H5Fcreate(file().c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    const hid_t space = H5Screate_simple(static_cast<int>(shape.size()), shape.data(), nullptr);
    const hid_t plan = H5Pcreate(H5P_DATASET_CREATE);
    if (!storage.chunk.empty()) H5Pset_chunk(plan, static_cast<int>(storage.chunk.size()), storage.chunk.data());
    if (storage.shuffle) H5Pset_shuffle(plan);
    if (storage.deflate > 0) H5Pset_deflate(plan, static_cast<unsigned>(storage.deflate));
    if (storage.fletcher) H5Pset_fletcher32(plan);
    const hid_t data = H5Dcreate2(h5, name.c_str(), file_type, space, H5P_DEFAULT, plan, H5P_DEFAULT);
    std::vector<std::int32_t> values(
        std::accumulate(shape.begin(), shape.end(), std::size_t{1}, std::multiplies<std::size_t>()));
    std::iota(values.begin(), values.end(), 0);
    H5Dwrite(data, H5T_NATIVE_INT32, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data());
    H5Dclose(data);
    H5Pclose(plan);
    H5Sclose(space);
    H5Fclose(h5);
  }
  static std::vector<std::vector<std::int64_t>> values_of(const Dataset& dataset) {
    std::vector<std::vector<std::int64_t>> all;
    Tensors element;
    for (const auto iterator = dataset.make_iterator(); iterator->next(element);) {
      all.push_back(element[0].to_vector<std::int64_t>());
    }
    return all;
  }
  cohort::test::TemporaryFolder folder_;
};

std::vector<std::vector<std::int64_t>> counted_rows(std::int64_t rows, std::int64_t width) {
  std::vector<std::vector<std::int64_t>> all;
  for (std::int64_t i = 0; i < rows; ++i) {
    all.emplace_back();
    for (std::int64_t k = 0; k < width; ++k) all.back().push_back(i * width + k);
  }
  return all;
}

TEST_F(Hdf5RowsOfFiles, AreTheSameHoweverTheyAreStored) {
  const Storage storages[] = {
      {},
      {.chunk = {4, 5, 3}},
      {.chunk = {4, 2, 2}},
      {.chunk = {3, 2, 2}, .deflate = 6},
      {.chunk = {3, 4, 3}, .shuffle = true, .deflate = 1},
      {.chunk = {11, 5, 3}, .shuffle = true},
      {.chunk = {1, 1, 1}, .shuffle = true, .deflate = 9},
      {.chunk = {4, 5, 3}, .shuffle = true, .deflate = 4, .fletcher = true},
  };
  const auto expected = counted_rows(11, 15);
  for (std::size_t i = 0; i < std::size(storages); ++i) {
    const std::string name = "x" + std::to_string(i);
    for (const hid_t type : {H5T_STD_I32LE, H5T_STD_I32BE}) {
      const std::string path = name + (type == H5T_STD_I32LE ? "le" : "be");
      add(path, {11, 5, 3}, storages[i], type);
      const Dataset dataset = datasets::hdf5(file(), {path});
      EXPECT_EQ(to_string(dataset.element_spec()), "int32(5, 3)");
      EXPECT_EQ(dataset.cardinality(), 11);
      EXPECT_EQ(values_of(dataset), expected) << path;
      EXPECT_EQ(values_of(parse_dataset(serialize(dataset)).batch(4)).size(), 3u);
      const auto shuffled = values_of(dataset.shuffle(11, {.seed = 1}));
      EXPECT_EQ(shuffled,
                values_of(datasets::from_tensor_slices(Hdf5File::open(file()).read(path)).shuffle(11, {.seed = 1})));
    }
  }
}

TEST_F(Hdf5RowsOfFiles, OfOneAxisAndManyChunksAreReadByManyThreads) {
  add("x", {100000}, {.chunk = {64}, .shuffle = true, .deflate = 1});
  const auto batches = values_of(datasets::hdf5(file(), {"x"}).shuffle(100000, {.seed = 1}).batch(5000));
  std::vector<std::int64_t> sorted;
  for (const auto& batch : batches) sorted.insert(sorted.end(), batch.begin(), batch.end());
  std::sort(sorted.begin(), sorted.end());
  ASSERT_EQ(sorted.size(), 100000u);
  for (std::size_t i = 0; i < sorted.size(); ++i) ASSERT_EQ(sorted[i], static_cast<std::int64_t>(i));
}

TEST_F(Hdf5RowsOfFiles, OfSeveralDatasetsAreTuples) {
  add("x", {4, 2}, {});
  add("y", {4}, {.chunk = {3}}, H5T_STD_U8LE);
  add("z", {5}, {});
  const Dataset dataset = datasets::hdf5(file(), {"/x", "y"});
  EXPECT_EQ(to_string(dataset.element_spec()), "(int32(2,), uint8())");
  EXPECT_EQ(values_of(dataset), counted_rows(4, 2));
  EXPECT_THAT(error_of([&] {
                datasets::hdf5(file(), {"x", "z"});
              }),
              AllOf(HasSubstr("dataset=z"), HasSubstr("the same size along axis 0")));
  EXPECT_THAT(error_of([&] { datasets::hdf5(file(), {"none"}); }), AllOf(HasSubstr(file()), HasSubstr("/none")));
  EXPECT_THAT(error_of([&] { datasets::hdf5(file(), {}); }), HasSubstr("at least one dataset"));
  EXPECT_THAT(error_of([&] { datasets::hdf5(folder_.file("none.h5"), {"x"}); }), HasSubstr("NotFound"));
}

TEST_F(Hdf5RowsOfFiles, AFileThatChangesBreaksTheSource) {
  add("x", {4, 2}, {});
  const std::string bytes = serialize(datasets::hdf5(file(), {"x"}));
  std::filesystem::remove(file());
  const Dataset travelled = parse_dataset(bytes);
  EXPECT_EQ(travelled.cardinality(), 4);
  EXPECT_THROW(values_of(travelled), BrokenSource);
  add("x", {4, 2}, {});
  EXPECT_EQ(values_of(travelled), counted_rows(4, 2)) << "tried again";
}

TEST_F(Hdf5RowsOfFiles, ADamagedChunkIsAnErrorOfItsRows) {
  add("x", {64, 64}, {.chunk = {16, 64}, .deflate = 1});
  std::string bytes = read_file(file());
  // The first chunk that deflate has written begins with its header.
  const std::size_t at = bytes.find("\x78\x01");
  ASSERT_NE(at, std::string::npos);
  for (std::size_t i = 2; i < 12; ++i) bytes[at + i] = static_cast<char>(~bytes[at + i]);
  write_file_atomically(file(), bytes);
  const auto iterator = datasets::hdf5(file(), {"x"}).make_iterator();
  Tensors element;
  int errors = 0;
  for (int i = 0; i < 64; ++i) {
    try {
      ASSERT_TRUE(iterator->next(element));
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr("chunks that are whole"));
      ++errors;
    }
  }
  EXPECT_EQ(errors, 16);
  EXPECT_FALSE(iterator->next(element));
}

}  // namespace
}  // namespace cohort
