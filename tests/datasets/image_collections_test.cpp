#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "cohort/data/broken_source.h"
#include "cohort/datasets/builtin/cifar.h"
#include "cohort/datasets/builtin/fashion_mnist.h"
#include "cohort/datasets/builtin/mnist.h"
#include "cohort/files/atomic_file.h"
#include "tests/datasets/elements.h"
#include "tests/support/error_of.h"
#include "tests/support/paths.h"
#include "tests/support/zip_bytes.h"

namespace cohort::datasets::test {
namespace {

using cohort::test::error_of;
using testing::ElementsAre;
using testing::HasSubstr;

std::string idx_bytes(std::initializer_list<int> sizes, const std::string& content) {
  std::string bytes{0, 0, 8, static_cast<char>(sizes.size())};
  for (const int size : sizes) bytes += std::string{0, 0, 0, static_cast<char>(size)};
  return bytes + content;
}

class ImageCollections : public testing::Test {
 protected:
  void put(const std::string& name, const std::string& bytes) { write_file_atomically(folder_.file(name), bytes); }
  std::string folder() const { return folder_.path().string(); }
  cohort::test::TemporaryFolder folder_;
};

TEST_F(ImageCollections, MnistIsReadFromIdxFiles) {
  put("train-images-idx3-ubyte", idx_bytes({2, 1, 2}, "abcd"));
  put("train-labels-idx1-ubyte", idx_bytes({2}, "\1\2"));
  put("t10k-images-idx3-ubyte", idx_bytes({1, 1, 2}, "ef"));
  EXPECT_THAT(error_of([&] { mnist(folder()); }), AllOf(HasSubstr("the file t10k-labels-idx1-ubyte.gz is expected"),
                                                        HasSubstr(folder()), HasSubstr("mnist.npz")));
  put("t10k-labels-idx1-ubyte", idx_bytes({1}, "\3"));
  const auto [train, test] = mnist(folder());
  EXPECT_EQ(to_string(train.element_spec()), "(uint8(1, 2), uint8())");
  EXPECT_EQ(train.cardinality(), 2);
  EXPECT_THAT(all(train, 0), ElementsAre(ElementsAre('a', 'b'), ElementsAre('c', 'd')));
  EXPECT_THAT(all(test, 1), ElementsAre(ElementsAre(3)));
  EXPECT_THAT(all(parse_dataset(serialize(train)).batch(2), 1), ElementsAre(ElementsAre(1, 2)));
}

TEST_F(ImageCollections, MnistIsReadFromKerasArchive) {
  const auto npy_bytes = [](const std::string& shape, const std::string& data) {
    std::string text = "{'descr': '|u1', 'fortran_order': False, 'shape': " + shape + ", }";
    text.append(63 - (10 + text.size()) % 64, ' ').push_back('\n');
    return std::string("\x93NUMPY\x01\x00", 8) + static_cast<char>(text.size()) + '\0' + text + data;
  };
  put("mnist.npz", cohort::test::zip_bytes({{"x_test.npy", npy_bytes("(1, 1, 2)", "ef")},
                                            {"x_train.npy", npy_bytes("(2, 1, 2)", "abcd")},
                                            {"y_train.npy", npy_bytes("(2,)", "\1\2")},
                                            {"y_test.npy", npy_bytes("(1,)", "\3")}},
                                           true));
  const auto [train, test] = mnist(folder());
  EXPECT_EQ(to_string(train.element_spec()), "(uint8(1, 2), uint8())");
  EXPECT_THAT(all(train, 1), ElementsAre(ElementsAre(1), ElementsAre(2)));
  EXPECT_THAT(all(test, 0), ElementsAre(ElementsAre('e', 'f')));
}

TEST_F(ImageCollections, FilesAreOpenedWhereTheDatasetIsWalked) {
  for (const char* split : {"train", "t10k"}) {
    put(std::string(split) + "-images-idx3-ubyte", idx_bytes({2, 1, 2}, "abcd"));
    put(std::string(split) + "-labels-idx1-ubyte", idx_bytes({2}, "\1\2"));
  }
  for (const Dataset& dataset : {mnist(folder()).first, fashion_mnist({.folder = folder()}).first}) {
    const std::string bytes = serialize(dataset);
    std::filesystem::rename(folder_.file("train-labels-idx1-ubyte"), folder_.file("away"));
    const Dataset travelled = parse_dataset(bytes);
    EXPECT_EQ(travelled.cardinality(), 2);
    EXPECT_THROW(all(travelled), BrokenSource);
    put("train-labels-idx1-ubyte", idx_bytes({1}, "\1"));
    EXPECT_THROW(all(travelled), BrokenSource) << "of another size";
    std::filesystem::rename(folder_.file("away"), folder_.file("train-labels-idx1-ubyte"));
    EXPECT_EQ(all(travelled).size(), 2u) << "tried again";
  }
}

// A record: labels, then planes whose pixels are red + i, green + i, blue + i.
std::string cifar_record(const std::string& labels, int red, int green, int blue) {
  std::string bytes = labels;
  for (const int first : {red, green, blue}) {
    for (int i = 0; i < 1024; ++i) bytes.push_back(static_cast<char>(first + i));
  }
  return bytes;
}

TEST_F(ImageCollections, Cifar10HasColoursInside) {
  for (int i = 1; i <= 5; ++i) {
    put("cifar-10-batches-bin/data_batch_" + std::to_string(i) + ".bin",
        cifar_record(std::string(1, static_cast<char>(i)), 0, 100, 200) + cifar_record("\7", 1, 2, 3));
  }
  EXPECT_THAT(error_of([&] { cifar10(folder()); }),
              AllOf(HasSubstr("the file test_batch.bin is expected"), HasSubstr("cifar-10-binary.tar.gz")));
  put("cifar-10-batches-bin/test_batch.bin", cifar_record("\11", 9, 8, 7));
  const auto [train, test] = cifar10(folder());
  EXPECT_EQ(to_string(train.element_spec()), "(uint8(32, 32, 3), uint8(1,))");
  EXPECT_EQ(train.cardinality(), 10);
  const auto images = all(train, 0);
  EXPECT_THAT(std::vector(images[0].begin(), images[0].begin() + 6), ElementsAre(0, 100, 200, 1, 101, 201));
  EXPECT_EQ(images[3][3 * 33], (1 + 33) % 256) << "row 1, column 1, red";
  EXPECT_THAT(all(train.shard(2, 0), 1),
              ElementsAre(ElementsAre(1), ElementsAre(2), ElementsAre(3), ElementsAre(4), ElementsAre(5)));
  EXPECT_THAT(all(test, 1), ElementsAre(ElementsAre(9)));
  EXPECT_EQ(all(cifar10(folder_.file("cifar-10-batches-bin")).second), all(test)) << "the folder itself";
  put("cifar-10-batches-bin/test_batch.bin", "short");
  EXPECT_THAT(error_of([&] { cifar10(folder()); }), HasSubstr("whole records"));
}

TEST_F(ImageCollections, Cifar100HasTwoLabels) {
  put("train.bin", cifar_record("\3\55", 0, 1, 2));
  put("test.bin", cifar_record("\4\56", 0, 1, 2));
  EXPECT_THAT(all(cifar100(folder()).first, 1), ElementsAre(ElementsAre(45)));
  EXPECT_THAT(all(cifar100(folder(), {.label_mode = "coarse"}).second, 1), ElementsAre(ElementsAre(4)));
  EXPECT_THAT(error_of([&] { cifar100(folder(), {.label_mode = "x"}); }), HasSubstr("label_mode=x"));
  EXPECT_THAT(error_of([&] { cifar100(folder_.file("none")); }), HasSubstr("the file train.bin is expected"));
}

}  // namespace
}  // namespace cohort::datasets::test
