#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/datasets/positions.h"

namespace cohort::datasets::test {
namespace {

using testing::ElementsAre;

TEST(Take, GivesTheFirstElements) {
  for (const Dataset& ten : rows_and_range(10)) {
    EXPECT_THAT(numbers(ten.take(3)), ElementsAre(0, 1, 2));
    EXPECT_EQ(numbers(ten.take(30)).size(), 10u);
    EXPECT_EQ(numbers(ten.take(-1)).size(), 10u);
    EXPECT_THAT(numbers(ten.take(0)), ElementsAre());
  }
}

const PositionsCase kTakeCases[] = {
    {"rows", [] { return rows(7).take(4); }},
    {"elements", [] { return range(7).take(4); }},
};
INSTANTIATE_TEST_SUITE_P(Take, Positions, testing::ValuesIn(kTakeCases), name_of_case);

}  // namespace
}  // namespace cohort::datasets::test
