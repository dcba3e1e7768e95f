#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/datasets/positions.h"

namespace cohort::datasets::test {
namespace {

using testing::ElementsAre;

TEST(Range, CountsUpAndDown) {
  EXPECT_THAT(numbers(range(4)), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(numbers(range(2, 9, 3)), ElementsAre(2, 5, 8));
  EXPECT_THAT(numbers(range(2, 8, 3)), ElementsAre(2, 5));
  EXPECT_THAT(numbers(range(3, 0, -1)), ElementsAre(3, 2, 1));
  EXPECT_THAT(numbers(range(3, 0)), ElementsAre());
  EXPECT_EQ(range(INT64_MIN, INT64_MAX, INT64_MAX).cardinality(), 3);
  EXPECT_THROW(range(0, 3, 0), Error);
  EXPECT_THROW(range(INT64_MIN, INT64_MAX), Error);
}

const PositionsCase kRangeCases[] = {
    {"numbers", [] { return range(3, 20, 4); }},
};
INSTANTIATE_TEST_SUITE_P(Range, Positions, testing::ValuesIn(kRangeCases), name_of_case);

}  // namespace
}  // namespace cohort::datasets::test
