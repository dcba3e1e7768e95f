#include "cohort/datasets/builtin/fashion_mnist.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "cohort/datasets/builtin/idx_file.h"
#include "tests/support/paths.h"

namespace cohort::datasets {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

std::string idx(std::initializer_list<int> sizes, const std::string& content, int type = 8) {
  std::string bytes{0, 0, static_cast<char>(type), static_cast<char>(sizes.size())};
  for (int size : sizes) {
    for (int shift : {24, 16, 8, 0}) bytes.push_back(static_cast<char>(size >> shift));
  }
  return bytes + content;
}

class IdxFile : public testing::Test {
 protected:
  std::string plain(const std::string& name, const std::string& bytes) {
    std::ofstream(folder_.file(name), std::ios::binary) << bytes;
    return folder_.file(name);
  }
  std::string zipped(const std::string& name, const std::string& bytes) {
    gzFile file = gzopen(folder_.file(name).c_str(), "wb");
    gzwrite(file, bytes.data(), static_cast<unsigned>(bytes.size()));
    gzclose(file);
    return folder_.file(name);
  }
  cohort::test::TemporaryFolder folder_;
};

TEST_F(IdxFile, ReadsPlainAndGzippedFiles) {
  const std::string bytes = idx({2, 3}, "abcdef");
  for (const std::string& path : {plain("a", bytes), zipped("a.gz", bytes)}) {
    const Tensor values = read_idx(path);
    EXPECT_EQ(values.shape(), Shape({2, 3}));
    EXPECT_THAT(values.to_vector<std::int32_t>(), ElementsAre('a', 'b', 'c', 'd', 'e', 'f'));
  }
}

TEST_F(IdxFile, RefusesDamagedFiles) {
  EXPECT_THAT([&] { read_idx(folder_.file("none")); },
              ThrowsMessage<Error>(HasSubstr("a file that can be read is expected")));
  EXPECT_THAT([&] { read_idx(plain("a", "abc")); }, ThrowsMessage<Error>(HasSubstr("ends too early")));
  EXPECT_THAT([&] { read_idx(plain("a", "abcdefgh")); }, ThrowsMessage<Error>(HasSubstr("magic number")));
  EXPECT_THAT([&] { read_idx(plain("a", idx({6}, "abc"))); }, ThrowsMessage<Error>(HasSubstr("ends too early")));
  EXPECT_THAT([&] { read_idx(plain("a", idx({6}, "abcdefg"))); }, ThrowsMessage<Error>(HasSubstr("left at its end")));
  EXPECT_THAT([&] { read_idx(plain("a", idx({6}, "abcdef", 13))); }, ThrowsMessage<Error>(HasSubstr("unsigned bytes")));
  EXPECT_THAT(
      [&] {
        read_idx(plain("a", idx({0x7fffffff, 0x7fffffff, 0x7fffffff}, "")));
      },
      ThrowsMessage<Error>(HasSubstr("too short for its shape")));
}

TEST_F(IdxFile, NoticesEveryCutAndEveryFlippedByteOfAGzippedFile) {
  std::string content;
  for (int i = 0; i < 300; ++i) content.push_back(static_cast<char>(i * 7));
  std::ifstream file(zipped("a.gz", idx({300}, content)), std::ios::binary);
  const std::string bytes(std::istreambuf_iterator<char>(file), {});
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    EXPECT_THROW(read_idx(plain("cut.gz", bytes.substr(0, length))), Error) << length;
  }
  for (std::size_t at = 10; at < bytes.size(); ++at) {  // the first 10 are gzip's header: time, system
    std::string flipped = bytes;
    flipped[at] = static_cast<char>(flipped[at] ^ 0x10);
    EXPECT_THROW(read_idx(plain("flipped.gz", flipped)), Error) << at;
  }
}

TEST_F(IdxFile, FashionMnistNamesThePackageAndTheOption) {
  EXPECT_THAT([&] { fashion_mnist({.folder = folder_.path().string()}); },
              ThrowsMessage<Error>(AllOf(HasSubstr("train-images-idx3-ubyte.gz is expected"),
                                         HasSubstr("Install the package dataset-fashion-mnist, or give another folder "
                                                   "with the option 'folder'."))));
}

TEST_F(IdxFile, FashionMnistReadsAnotherFolder) {
  zipped("train-images-idx3-ubyte.gz", idx({2, 1, 2}, "abcd"));
  zipped("train-labels-idx1-ubyte.gz", idx({2}, "\1\2"));
  plain("t10k-images-idx3-ubyte", idx({1, 1, 2}, "ef"));
  plain("t10k-labels-idx1-ubyte", idx({1}, "\3"));
  auto [train, test] = fashion_mnist({.folder = folder_.path().string()});
  EXPECT_EQ(train.cardinality(), 2);
  EXPECT_EQ(test.cardinality(), 1);
  EXPECT_EQ(to_string(train.element_spec()), "(uint8(1, 2), uint8())");
  EXPECT_LT(serialize(train).size(), 500u) << "files are opened where the dataset is walked";
  EXPECT_EQ(parse_dataset(serialize(train)).cardinality(), 2);
  zipped("train-labels-idx1-ubyte.gz", idx({3}, "\1\2\3"));
  EXPECT_THAT([&] { fashion_mnist({.folder = folder_.path().string()}); },
              ThrowsMessage<Error>(HasSubstr("images.shape=(2, 1, 2), labels.shape=(3,)")));
}

TEST(FashionMnist, IsWhatThePackageHolds) {
  if (!std::filesystem::exists("/usr/share/datasets/fashion-mnist")) GTEST_SKIP() << "dataset-fashion-mnist is missing";
  auto [train, test] = fashion_mnist();
  EXPECT_EQ(train.cardinality(), 60000);
  EXPECT_EQ(test.cardinality(), 10000);
  EXPECT_EQ(to_string(train.element_spec()), "(uint8(28, 28), uint8())");
  auto [x, y] = test.batch(10000).iterator().next<2>();
  std::array<int, 10> counts{};
  for (std::uint8_t label : y.data<std::uint8_t>()) ++counts.at(label);
  EXPECT_TRUE(std::ranges::all_of(counts, [](int count) { return count == 1000; }));
  EXPECT_EQ(y.data<std::uint8_t>()[0], 9) << "an ankle boot";
}

}  // namespace
}  // namespace cohort::datasets
