#include "cohort/core/random.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

namespace cohort {
namespace {

using Words = std::array<std::uint32_t, 4>;

// Known answers published with Random123 for philox4x32, ten rounds.
TEST(Philox, GivesThePublishedAnswers) {
  EXPECT_EQ(philox({0, 0, 0, 0}, {0, 0}), (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox({~0u, ~0u, ~0u, ~0u}, {~0u, ~0u}), (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(PhiloxStream, DependsOnEveryCoordinate) {
  const RandomState state{.seed = 1, .epoch = 2, .step = 3, .first_sample = 4};
  std::set<Words> seen;
  seen.insert(PhiloxStream(state, 5, 6).block(7));
  seen.insert(PhiloxStream({.seed = 9, .epoch = 2, .step = 3, .first_sample = 4}, 5, 6).block(7));
  seen.insert(PhiloxStream({.seed = 1, .epoch = 9, .step = 3, .first_sample = 4}, 5, 6).block(7));
  seen.insert(PhiloxStream({.seed = 1, .epoch = 2, .step = 9, .first_sample = 4}, 5, 6).block(7));
  seen.insert(PhiloxStream({.seed = 1, .epoch = 2, .step = 3, .first_sample = 9}, 5, 6).block(7));
  seen.insert(PhiloxStream(state, 9, 6).block(7));
  seen.insert(PhiloxStream(state, 5, 9).block(7));
  seen.insert(PhiloxStream(state, 5, 6).block(9));
  seen.insert(PhiloxStream(state, 5, 6).block(std::uint64_t{7} << 32));
  EXPECT_EQ(seen.size(), 9u);
}

TEST(PhiloxStream, ASampleDrawsTheSameOnWhicheverReplicaItLands) {
  const PhiloxStream whole({.seed = 1, .first_sample = 0}, 5, 40);
  const PhiloxStream half({.seed = 1, .first_sample = 32}, 5, 8);
  EXPECT_EQ(whole.block(3), half.block(3));
}

TEST(Random, UnitFloatsKeepTheirBounds) {
  EXPECT_EQ(to_unit_float(0), 0.0f);
  EXPECT_LT(to_unit_float(~0u), 1.0f);
  EXPECT_GT(to_open_unit_float(0), 0.0f);
  EXPECT_EQ(to_open_unit_float(~0u), 1.0f);
}

TEST(Random, NormalsHaveMeanZeroAndVarianceOne) {
  constexpr int kBlocks = 50000;
  const PhiloxStream stream({.seed = 7}, 1, 0);
  double sum = 0, squares = 0, fourth = 0;
  for (int i = 0; i < kBlocks; ++i) {
    const Words words = stream.block(i);
    for (float x : {to_normal(words[0], words[1])[0], to_normal(words[0], words[1])[1],
                    to_normal(words[2], words[3])[0], to_normal(words[2], words[3])[1]}) {
      ASSERT_TRUE(std::isfinite(x));
      sum += x;
      squares += double{x} * x;
      fourth += double{x} * x * x * x;
    }
  }
  const double count = 4.0 * kBlocks;
  EXPECT_NEAR(sum / count, 0.0, 0.01);
  EXPECT_NEAR(squares / count, 1.0, 0.02);
  EXPECT_NEAR(fourth / count, 3.0, 0.1);
  EXPECT_TRUE(std::isfinite(to_normal(0, 0)[0]));
}

TEST(Random, SettingTheSeedRepeatsTheOpSeeds) {
  set_random_seed(42);
  EXPECT_EQ(global_seed(), 42u);
  const std::uint64_t first = next_op_seed(), second = next_op_seed();
  EXPECT_NE(first, second);
  set_random_seed(42);
  EXPECT_EQ(next_op_seed(), first);
  EXPECT_EQ(next_op_seed(), second);
  set_random_seed(43);
  EXPECT_NE(next_op_seed(), first);
}

TEST(Random, HashCombineTellsOrderAndSmallChangesApart) {
  EXPECT_NE(hash_combine(1, 2), hash_combine(2, 1));
  EXPECT_NE(hash_combine(0, 0), hash_combine(0, 1));
  EXPECT_NE(hash_combine(0, 0), hash_combine(1, 0));
}

}  // namespace
}  // namespace cohort
