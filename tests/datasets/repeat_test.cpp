#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/datasets/positions.h"

namespace cohort::datasets::test {
namespace {

using testing::ElementsAre;

TEST(Repeat, StartsOver) {
  for (const Dataset& three : rows_and_range(3)) {
    EXPECT_THAT(numbers(three.repeat(2)), ElementsAre(0, 1, 2, 0, 1, 2));
    EXPECT_THAT(numbers(three.repeat(0)), ElementsAre());
    EXPECT_THAT(numbers(*three.repeat().make_iterator(), 7), ElementsAre(0, 1, 2, 0, 1, 2, 0));
    EXPECT_EQ(three.repeat().cardinality(), kInfiniteCardinality);
    EXPECT_EQ(three.repeat(5).cardinality(), 15);
    EXPECT_THAT(all(three.repeat(2).batch(4)), ElementsAre(ElementsAre(0, 1, 2, 0), ElementsAre(1, 2)));
  }
  for (const Dataset& none : rows_and_range(0)) EXPECT_THAT(numbers(none.repeat()), ElementsAre()) << "and it ends";
}

const PositionsCase kRepeatCases[] = {
    {"rows", [] { return rows(4).repeat(3); }},
    {"elements", [] { return range(4).repeat(3); }},
    {"for_ever", [] { return rows(4).repeat(); }},
    {"shuffled", [] { return rows(5).shuffle(4, {.seed = 5}).repeat(3); }},
};
INSTANTIATE_TEST_SUITE_P(Repeat, Positions, testing::ValuesIn(kRepeatCases), name_of_case);

}  // namespace
}  // namespace cohort::datasets::test
