#include "cohort/datasets/transforms/permutation.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <vector>

namespace cohort::datasets::test {
namespace {

Permutation permutation(std::uint64_t count, std::uint64_t seed) { return {count, PhiloxStream({.seed = seed}, 1, 0)}; }

TEST(Permutation, GivesEveryNumberOnce) {
  for (std::uint64_t count : {1, 2, 3, 15, 16, 17, 100, 255, 256, 257, 1000, 65537}) {
    const Permutation order = permutation(count, count);
    std::vector<bool> seen(count);
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::uint64_t number = order(i);
      ASSERT_LT(number, count);
      ASSERT_FALSE(seen[number]) << count;
      seen[number] = true;
    }
  }
}

TEST(Permutation, ReachesNumbersOfAnySize) {
  constexpr std::uint64_t kCount = (std::uint64_t{1} << 62) + 12345;
  const Permutation order = permutation(kCount, 1);
  std::set<std::uint64_t> seen;
  for (std::uint64_t i = 0; i < 1000; ++i) seen.insert(order(i * (kCount / 1000)));
  EXPECT_EQ(seen.size(), 1000u);
  EXPECT_LT(*seen.rbegin(), kCount);
}

TEST(Permutation, HasEveryOrderAlikeOften) {
  std::map<std::vector<std::uint64_t>, int> orders;
  for (std::uint64_t seed = 0; seed < 24'000; ++seed) {
    const Permutation order = permutation(4, seed);
    ++orders[{order(0), order(1), order(2), order(3)}];
  }
  ASSERT_EQ(orders.size(), 24u);
  // Five standard deviations of a binomial number.
  for (const auto& [order, count] : orders) EXPECT_NEAR(count, 1000, 155);
}

// Neighbours lie far apart, and no place has a liking for a number.
TEST(Permutation, LooksRandom) {
  constexpr std::uint64_t kCount = 1000;
  std::vector<double> sums(kCount);
  double neighbours = 0;
  constexpr int kSeeds = 400;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const Permutation order = permutation(kCount, seed);
    for (std::uint64_t i = 0; i < kCount; ++i) sums[i] += static_cast<double>(order(i));
    for (std::uint64_t i = 1; i < kCount; ++i) neighbours += order(i) == order(i - 1) + 1;
  }
  // A mean of 400 uniform numbers: 499.5 with a deviation of 14.4; of a thousand of them one is beyond 3.3 of these.
  for (double sum : sums) EXPECT_NEAR(sum / kSeeds, 499.5, 75);
  EXPECT_NEAR(neighbours / kSeeds, 1.0, 0.3);
}

}  // namespace
}  // namespace cohort::datasets::test
