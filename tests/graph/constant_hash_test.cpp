#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <random>
#include <set>

#include "cohort/core/device.h"
#include "cohort/graph/graph_proto.h"

namespace cohort {
namespace {

Tensor tensor_of(const std::vector<std::uint8_t>& bytes) {
  return Tensor::of(bytes, {static_cast<std::int64_t>(bytes.size())});
}

TEST(ConstantHash, EveryBitOfEveryByteCounts) {
  std::mt19937 random(1);
  for (const std::size_t size : {1u, 7u, 16u, 63u, 64u, 65u, 200u}) {
    std::vector<std::uint8_t> bytes(size);
    for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(random());
    std::set<std::string> hashes = {constant_hash(tensor_of(bytes))};
    for (std::size_t bit = 0; bit < 8 * size; ++bit) {
      bytes[bit / 8] ^= static_cast<std::uint8_t>(1 << bit % 8);
      hashes.insert(constant_hash(tensor_of(bytes)));
      bytes[bit / 8] ^= static_cast<std::uint8_t>(1 << bit % 8);
    }
    EXPECT_EQ(hashes.size(), 8 * size + 1);
    EXPECT_TRUE(hashes.contains(constant_hash(tensor_of(bytes))));
  }
}

TEST(ConstantHash, ZerosOfEveryLengthDiffer) {
  std::set<std::string> hashes;
  for (std::size_t size = 0; size < 300; ++size)
    hashes.insert(constant_hash(tensor_of(std::vector<std::uint8_t>(size))));
  EXPECT_EQ(hashes.size(), 300u);
}

TEST(ConstantHash, WordsThatChangePlacesCount) {
  std::vector<std::uint64_t> words(32);
  for (std::size_t i = 0; i < words.size(); ++i) words[i] = i + 1;
  const auto hash = [&] {
    std::vector<std::uint8_t> bytes(words.size() * 8);
    std::memcpy(bytes.data(), words.data(), bytes.size());
    return constant_hash(tensor_of(bytes));
  };
  std::set<std::string> hashes = {hash()};
  for (std::size_t a = 0; a < words.size(); ++a) {
    for (std::size_t b = 0; b < a; ++b) {
      std::swap(words[a], words[b]);
      hashes.insert(hash());
      std::swap(words[a], words[b]);
    }
  }
  EXPECT_EQ(hashes.size(), 1 + 32u * 31 / 2);
}

TEST(ConstantHash, TypeAndShapeCount) {
  std::set<std::string> hashes;
  for (const Shape& shape : {Shape({6}), Shape({2, 3}), Shape({3, 2}), Shape({1, 6}), Shape({6, 1})}) {
    for (const DType dtype : {DType::Float32, DType::Int32})
      hashes.insert(constant_hash(Tensor::full(shape, 0.0, dtype)));
  }
  EXPECT_EQ(hashes.size(), 10u);
}

// No clocks are compared closely: a hash of one byte at a time takes a hundred times as long as a copy.
TEST(ConstantHash, IsNotMuchSlowerThanACopy) {
  std::vector<std::uint8_t> source(32 << 20, 1), target(source.size());
  const Tensor large = Tensor::from_blob(source.data(), DType::UInt8, {static_cast<std::int64_t>(source.size())});
  const auto seconds = [](auto work) {
    double best = 1e9;
    for (int round = 0; round < 3; ++round) {
      const auto start = std::chrono::steady_clock::now();
      work();
      best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    }
    return best;
  };
  std::string hash;
  const double hashing = seconds([&] { hash = constant_hash(large); });
  const double copying = seconds([&] { std::memcpy(target.data(), source.data(), source.size()); });
  EXPECT_LT(hashing, 20 * copying) << hash;
}

TEST(ConstantHash, IsMadeOnceInsideAScope) {
  std::vector<float> values(16, 1.0f);
  const Tensor tensor = Tensor::from_blob(values.data(), DType::Float32, {16});
  const std::string before = constant_hash(tensor);
  std::string inside;
  {
    const ConstantHashScope scope;
    EXPECT_EQ(constant_hash(tensor), before);
    values[3] = 2.0f;  // nobody may; here it tells whether the values are looked at again
    EXPECT_EQ(constant_hash(tensor), before);
    {
      const ConstantHashScope inner;
      inside = constant_hash(tensor);
    }
    EXPECT_EQ(constant_hash(tensor), before);
  }
  EXPECT_NE(inside, before);
  EXPECT_EQ(constant_hash(tensor), inside);
}

}  // namespace
}  // namespace cohort
