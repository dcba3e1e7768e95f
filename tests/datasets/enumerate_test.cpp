#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/datasets/positions.h"

namespace cohort::datasets::test {
namespace {

using testing::ElementsAre;

TEST(Enumerate, Counts) {
  const Dataset dataset = range(5, 8).enumerate();
  EXPECT_EQ(to_string(dataset.element_spec()), "(int64(), int64())");
  EXPECT_THAT(all(dataset, 0), ElementsAre(ElementsAre(0), ElementsAre(1), ElementsAre(2)));
  EXPECT_THAT(all(dataset, 1), ElementsAre(ElementsAre(5), ElementsAre(6), ElementsAre(7)));
}

const PositionsCase kEnumerateCases[] = {
    {"rows", [] { return rows(6).enumerate(); }},
};
INSTANTIATE_TEST_SUITE_P(Enumerate, Positions, testing::ValuesIn(kEnumerateCases), name_of_case);

}  // namespace
}  // namespace cohort::datasets::test
