#include "cohort/datasets/utilities/numpy_random.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

namespace cohort::utils::test {
namespace {

std::vector<std::uint64_t> shuffled(std::uint32_t seed, std::size_t count) {
  std::vector<std::uint64_t> values(count);
  std::iota(values.begin(), values.end(), 0);
  NumpyRandomState(seed).shuffle(std::span(values));
  return values;
}

// What numpy.random.RandomState(seed).shuffle(list(range(count))) leaves.
TEST(NumpyRandomState, ShufflesAsNumPyDoes) {
  EXPECT_EQ(shuffled(0, 10), (std::vector<std::uint64_t>{2, 8, 4, 9, 1, 6, 7, 3, 0, 5}));
  EXPECT_EQ(shuffled(42, 10), (std::vector<std::uint64_t>{8, 1, 5, 0, 7, 2, 9, 4, 3, 6}));
  EXPECT_EQ(shuffled(1337, 12), (std::vector<std::uint64_t>{5, 3, 1, 0, 4, 6, 10, 2, 9, 11, 8, 7}));
  EXPECT_EQ(shuffled(4294967295, 8), (std::vector<std::uint64_t>{1, 7, 6, 0, 5, 4, 2, 3}));
  EXPECT_EQ(shuffled(3, 1), (std::vector<std::uint64_t>{0}));
  EXPECT_TRUE(shuffled(3, 0).empty());
}

TEST(NumpyRandomState, ShufflesManyAsNumPyDoes) {
  const auto hash_of = [](const std::vector<std::uint64_t>& values) {
    constexpr std::uint64_t kPrime = (std::uint64_t{1} << 61) - 1;
    std::uint64_t hash = 0;
    for (const std::uint64_t value : values) {
      hash = static_cast<std::uint64_t>((static_cast<unsigned __int128>(hash) * 1000003 + value) % kPrime);
    }
    return hash;
  };
  EXPECT_EQ(hash_of(shuffled(7, 1000)), 1207748909477170342u);
  EXPECT_EQ(hash_of(shuffled(7, 70000)), 1094066121906204807u);
}

TEST(NumpyRandomState, GoesOnFromShuffleToShuffle) {
  NumpyRandomState random(5);
  std::vector<int> values{0, 1, 2, 3, 4};
  random.shuffle(std::span(values));
  EXPECT_EQ(values, (std::vector<int>{4, 0, 1, 2, 3}));
  random.shuffle(std::span(values));
  EXPECT_EQ(values, (std::vector<int>{2, 1, 3, 0, 4}));
}

}  // namespace
}  // namespace cohort::utils::test
