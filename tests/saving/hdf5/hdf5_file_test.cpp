#include "cohort/saving/hdf5/hdf5_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <hdf5.h>

#include <fstream>
#include <thread>

#include "cohort/core/error.h"
#include "tests/support/paths.h"

namespace cohort {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(Hdf5File, ReadsBackEveryType) {
  const test::TemporaryFolder folder;
  Hdf5File file = Hdf5File::create(folder.file("a.h5"));
  file.write("f32", Tensor::of<float>({1, 2, 3, 4, 5, 6}, {2, 3}));
  file.write("deep/f64", Tensor::of<double>({0.25}, {1}));
  file.write("deep/i32", Tensor::of<std::int32_t>({-1, 7}, {2}));
  file.write("deep/er/i64", Tensor::of<std::int64_t>({std::int64_t{1} << 40}, {}));
  file.write("u8", Tensor::of<std::uint8_t>({0, 255}, {2}));
  file.write("i8", Tensor::of<std::int8_t>({-128}, {1}));
  file.write("mask", Tensor::of<bool>({true, false, true}, {3}));
  file.write("half", Tensor::full({2}, 0.5, DType::BFloat16));
  file.write("text", Tensor::of_strings({"grün", "", "a b"}, {3}));
  file.write("none", Tensor::of<float>({}, {0, 4}));
  file.close();

  const Hdf5File read = Hdf5File::open(folder.file("a.h5"));
  EXPECT_EQ(read.read("f32").shape(), Shape({2, 3}));
  EXPECT_THAT(read.read("f32").to_vector<float>(), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_EQ(read.read("deep/f64").dtype(), DType::Float64);
  EXPECT_THAT(read.read("deep/i32").to_vector<int>(), ElementsAre(-1, 7));
  EXPECT_EQ(read.spec("deep/er/i64"), (TensorSpec{DType::Int64, {}}));
  EXPECT_EQ(read.read("deep/er/i64").item<std::int64_t>(), std::int64_t{1} << 40);
  EXPECT_THAT(read.read("u8").to_vector<int>(), ElementsAre(0, 255));
  EXPECT_EQ(read.read("i8").dtype(), DType::Int8);
  EXPECT_EQ(read.read("mask").dtype(), DType::Bool);
  EXPECT_THAT(read.read("mask").to_vector<int>(), ElementsAre(1, 0, 1));
  EXPECT_EQ(read.read("half").dtype(), DType::Float32);
  EXPECT_THAT(read.read("text").to_strings(), ElementsAre("grün", "", "a b"));
  EXPECT_EQ(read.read("none").shape(), Shape({0, 4}));
}

TEST(Hdf5File, ReadsBackAttributes) {
  Hdf5File file = Hdf5File::create_image("memory.h5");
  file.create_group("a/b");
  file.set_attribute("a/b", "name", "dense_1");
  file.set_attribute("a/b", "name", "dense_2");
  file.set_attribute("", "count", std::int64_t{-3});
  file.set_attribute("", "rate", 0.5);
  file.set_attribute("a", "names", std::vector<std::string>{"x", "yy"});
  file.set_attribute("a", "nothing", std::vector<std::string>{});
  const Hdf5File read = Hdf5File::open_image(file.image(), "memory.h5");
  EXPECT_EQ(read.string_attribute("a/b", "name"), "dense_2");
  EXPECT_EQ(read.int_attribute("", "count"), -3);
  EXPECT_EQ(read.double_attribute("", "rate"), 0.5);
  EXPECT_EQ(read.double_attribute("", "count"), -3.0);
  EXPECT_THAT(read.strings_attribute("a", "names"), ElementsAre("x", "yy"));
  EXPECT_THAT(read.strings_attribute("a", "nothing"), ElementsAre());
  EXPECT_TRUE(read.has_attribute("a", "names"));
  EXPECT_FALSE(read.has_attribute("a", "name"));
  EXPECT_THROW(read.string_attribute("", "count"), Error);
  EXPECT_THROW(read.int_attribute("a/b", "name"), Error);
}

TEST(Hdf5File, ListsMembersByNameAndByNumber) {
  Hdf5File file = Hdf5File::create_image("memory.h5");
  for (int i = 0; i < 12; ++i) file.write("list/" + std::to_string(i), Tensor::scalar(i));
  file.create_group("names/b");
  file.create_group("names/a");
  EXPECT_EQ(file.numbered_members("list"), 12);
  EXPECT_EQ(file.numbered_members("absent"), 0);
  EXPECT_THAT(file.members("names"), ElementsAre("a", "b"));
  EXPECT_THROW(file.numbered_members("names"), Error);
  EXPECT_TRUE(file.is_group("list") && !file.is_dataset("list"));
  EXPECT_TRUE(file.is_dataset("list/3") && !file.is_group("list/3"));
  EXPECT_FALSE(file.exists("list/12"));
  EXPECT_FALSE(file.exists("nowhere/at/all"));
  EXPECT_TRUE(file.exists(""));
}

TEST(Hdf5File, ErrorsNameFileAndPath) {
  const test::TemporaryFolder folder;
  EXPECT_THROW(Hdf5File::open(folder.file("missing.h5")), Error);
  std::ofstream(folder.file("text.h5")) << "no HDF5";
  EXPECT_THROW(Hdf5File::open(folder.file("text.h5")), Error);
  EXPECT_THROW(Hdf5File::open_image("no HDF5", "x.h5"), Error);
  EXPECT_THROW(Hdf5File::open_image("", "x.h5"), Error);
  EXPECT_THROW(Hdf5File::create(folder.file("no/such/folder.h5")), Error);
  Hdf5File file = Hdf5File::create_image("weights.h5");
  file.create_group("layers");
  try {
    file.read("layers/0");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::NotFound);
    EXPECT_THAT(error.what(), HasSubstr("Hdf5File 'weights.h5': a group or dataset of this path is expected. Received: "
                                        "path=/layers/0"));
  }
  EXPECT_THROW(file.read("layers"), Error);
  EXPECT_THROW(file.members("layers/0"), Error);
  file.write("layers/0", Tensor::scalar(1));
  EXPECT_THROW(file.write("layers/0", Tensor::scalar(1)), Error);
  file.close();
  EXPECT_THROW(file.exists("layers"), Error);
}

// A file from elsewhere must not make its reader open other files of the machine.
TEST(Hdf5File, StaysWithinItsFile) {
  const test::TemporaryFolder folder;
  const std::string secret = folder.file("secret.h5"), raw = folder.file("raw"), hostile = folder.file("hostile.h5");
  Hdf5File other = Hdf5File::create(secret);
  other.write("group/values", Tensor::of<float>({1, 2, 3, 4}, {4}));
  other.close();
  std::ofstream(raw) << "sixteen secrets!";
  {
    const hid_t file = H5Fcreate(hostile.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    H5Lcreate_external(secret.c_str(), "/group", file, "group", H5P_DEFAULT, H5P_DEFAULT);
    H5Lcreate_external(secret.c_str(), "/group/values", file, "values", H5P_DEFAULT, H5P_DEFAULT);
    H5Lcreate_soft("/group/values", file, "detour", H5P_DEFAULT, H5P_DEFAULT);
    const hsize_t size = 4;
    const hid_t space = H5Screate_simple(1, &size, nullptr);
    const hid_t elsewhere = H5Pcreate(H5P_DATASET_CREATE), joined = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_external(elsewhere, raw.c_str(), 0, 16);
    H5Pset_virtual(joined, space, secret.c_str(), "/group/values", space);
    H5Dclose(H5Dcreate2(file, "external", H5T_IEEE_F32LE, space, H5P_DEFAULT, elsewhere, H5P_DEFAULT));
    H5Dclose(H5Dcreate2(file, "virtual", H5T_IEEE_F32LE, space, H5P_DEFAULT, joined, H5P_DEFAULT));
    H5Dclose(H5Dcreate2(file, "own", H5T_IEEE_F32LE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    H5Lcreate_soft("/own", file, "alias", H5P_DEFAULT, H5P_DEFAULT);
    H5Pclose(elsewhere);
    H5Pclose(joined);
    H5Sclose(space);
    H5Fclose(file);
  }
  const Hdf5File file = Hdf5File::open(hostile);
  const auto message = [&file](const char* path) -> std::string {
    try {
      file.spec(path);
      file.read(path);
    } catch (const Error& error) {
      return error.what();
    }
    return "nothing thrown";
  };
  EXPECT_THAT(message("values"), HasSubstr("'/values' must be in this file. Received: link=external"));
  EXPECT_THAT(message("group/values"), HasSubstr("'/group' must be in this file"));
  EXPECT_THROW(file.members("group"), Error);
  EXPECT_THAT(message("detour"), HasSubstr("a group or dataset of this path is expected"));
  EXPECT_THAT(message("external"), HasSubstr("'/external' must have its values in this file"));
  EXPECT_THAT(message("virtual"), HasSubstr("'/virtual' must have its values in this file"));
  EXPECT_EQ(file.spec("alias").shape, Shape({4})) << "a soft link within the file is harmless";
}

TEST(Hdf5File, SurvivesCutOffAndChangedBytes) {
  Hdf5File file = Hdf5File::create_image("memory.h5");
  file.write("a/b", Tensor::of<float>({1, 2, 3, 4}, {4}));
  file.set_attribute("a/b", "name", "kernel");
  const std::string whole = file.image();
  const auto read_all = [](std::string bytes) {
    const Hdf5File read = Hdf5File::open_image(std::move(bytes), "memory.h5");
    read.read("a/b");
    read.string_attribute("a/b", "name");
  };
  read_all(whole);
  for (std::size_t size = 0; size < whole.size(); size += 37) {
    try {
      read_all(whole.substr(0, size));
    } catch (const Error&) {
    }
  }
  for (std::size_t i = 0; i < whole.size(); i += 3) {
    std::string changed = whole;
    changed[i] = static_cast<char>(changed[i] ^ 0xff);
    try {
      read_all(changed);
    } catch (const Error&) {
    }
  }
}

TEST(Hdf5File, FilesMayBeUsedByManyThreads) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([t] {
      Hdf5File file = Hdf5File::create_image("memory" + std::to_string(t) + ".h5");
      for (int i = 0; i < 50; ++i) file.write(std::to_string(i), Tensor::scalar(t * 100 + i));
      const Hdf5File read = Hdf5File::open_image(file.image(), "copy" + std::to_string(t) + ".h5");
      for (int i = 0; i < 50; ++i) EXPECT_EQ(read.read(std::to_string(i)).item<int>(), t * 100 + i);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace cohort
