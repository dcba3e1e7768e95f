#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/datasets/positions.h"

namespace cohort::datasets::test {
namespace {

using testing::ElementsAre;

TEST(Skip, LeavesTheFirstElementsOut) {
  for (const Dataset& ten : rows_and_range(10)) {
    EXPECT_THAT(numbers(ten.skip(8)), ElementsAre(8, 9));
    EXPECT_THAT(numbers(ten.skip(11)), ElementsAre());
    EXPECT_THAT(numbers(ten.repeat().skip(-1)), ElementsAre());
  }
}

const PositionsCase kSkipCases[] = {
    {"rows", [] { return rows(7).skip(4); }},
    {"elements", [] { return range(7).skip(4); }},
};
INSTANTIATE_TEST_SUITE_P(Skip, Positions, testing::ValuesIn(kSkipCases), name_of_case);

}  // namespace
}  // namespace cohort::datasets::test
