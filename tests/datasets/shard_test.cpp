#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/datasets/positions.h"

namespace cohort::datasets::test {
namespace {

using testing::ElementsAre;
using testing::ThrowsMessage;

TEST(Shard, GivesEveryNthElement) {
  for (const Dataset& ten : rows_and_range(10)) {
    EXPECT_THAT(numbers(ten.shard(4, 0)), ElementsAre(0, 4, 8));
    EXPECT_THAT(numbers(ten.shard(4, 3)), ElementsAre(3, 7));
    EXPECT_THAT(numbers(ten.shard(1, 0)), numbers(ten));
    EXPECT_THAT(numbers(ten.shard(20, 15)), ElementsAre());
    EXPECT_EQ(ten.shard(4, 1).cardinality(), 3);
    EXPECT_EQ(ten.shard(4, 2).cardinality(), 2);
  }
}

TEST(Shard, RefusesAnIndexOutsideItsShards) {
  EXPECT_THAT([] { range(3).shard(2, 2); },
              ThrowsMessage<Error>("Dataset.shard: at least one shard and an index in [0, num_shards) are expected. "
                                   "Received: num_shards=2, index=2."));
  EXPECT_THROW(range(3).shard(0, 0), Error);
  EXPECT_THROW(range(3).shard(2, -1), Error);
}

const PositionsCase kShardCases[] = {
    {"rows", [] { return rows(11).shard(3, 1); }},
    {"elements", [] { return range(11).shard(3, 2); }},
};
INSTANTIATE_TEST_SUITE_P(Shard, Positions, testing::ValuesIn(kShardCases), name_of_case);

}  // namespace
}  // namespace cohort::datasets::test
