#include "cohort/datasets/transforms/with_options.h"

#include <gtest/gtest.h>

#include "tests/datasets/positions.h"
#include "tests/support/error_of.h"

namespace cohort::datasets::test {
namespace {

const DatasetOptions kByData{.auto_shard_policy = AutoShardPolicy::Data};

TEST(WithOptions, ChangesNoElement) {
  for (const Dataset& data : rows_and_range(7)) {
    const Dataset with = data.apply(with_options(kByData));
    EXPECT_EQ(numbers(with), numbers(data));
    EXPECT_EQ(with.cardinality(), 7);
    EXPECT_EQ(with.stage().is_indexed(), data.stage().is_indexed());
    EXPECT_EQ(numbers(with.shuffle(7, {.seed = 2})), numbers(data.shuffle(7, {.seed = 2})));
  }
}

TEST(WithOptions, OfAnotherPolicyAreRefused) {
  EXPECT_THROW(range(3).apply(with_options({.auto_shard_policy = static_cast<AutoShardPolicy>(9)})), Error);
  EXPECT_THROW(range(3).apply(with_options({.auto_shard_policy = static_cast<AutoShardPolicy>(-2)})), Error);
}

TEST(WithOptions, OfNoBudgetAreRefused) {
  EXPECT_THROW(range(3).with_options({.ram_budget = 0}), Error);
  EXPECT_THROW(range(3).with_options({.ram_budget = -5}), Error);
}

INSTANTIATE_TEST_SUITE_P(WithOptions, Positions,
                         testing::Values(PositionsCase{"options", [] { return range(9).apply(with_options(kByData)); }},
                                         PositionsCase{"options_of_batches",
                                                       [] { return rows(9).batch(2).apply(with_options({})); }}),
                         name_of_case);

}  // namespace
}  // namespace cohort::datasets::test
