#include "cohort/datasets/transforms/ignore_errors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cohort/datasets/transforms/assert_cardinality.h"
#include "tests/datasets/damaged_source.h"
#include "tests/datasets/positions.h"
#include "tests/datasets/skipping.h"

namespace cohort::datasets::test {
namespace {

using testing::ElementsAre;

TEST(IgnoreErrors, LeavesOutWhatFailsAndCountsIt) {
  for (const Dataset& source : {damaged_source(8, 3), damaged_indexed_source(8, 3)}) {
    const Dataset data = source.apply(ignore_errors());
    auto iterator = data.make_iterator();
    EXPECT_THAT(numbers(*iterator), ElementsAre(1, 2, 4, 5, 7));
    EXPECT_EQ(ignored_errors(*iterator), 3u);
    iterator->rewind();
    EXPECT_THAT(numbers(*iterator), ElementsAre(1, 2, 4, 5, 7));
    EXPECT_EQ(ignored_errors(*iterator), 6u);
    EXPECT_EQ(data.cardinality(), kUnknownCardinality);
    EXPECT_EQ(source.repeat().apply(ignore_errors()).cardinality(), kInfiniteCardinality);
    expect_passing_by_equals_walking(data);
  }
  EXPECT_TRUE(numbers(damaged_source(5, 1).apply(ignore_errors())).empty());
  EXPECT_THROW(ignored_errors(*range(3).make_iterator()), Error);
}

TEST(IgnoreErrors, LogsWhatItLeavesOutIfAsked) {
  for (const bool log_warning : {false, true}) {
    testing::internal::CaptureStderr();
    numbers(damaged_source(3, 2).apply(ignore_errors({.log_warning = log_warning})));
    const std::string log = testing::internal::GetCapturedStderr();
    EXPECT_EQ(log.find("element 2 is damaged") != std::string::npos, log_warning) << log;
  }
}

TEST(IgnoreErrors, KeepsTheErrorOfASourceThatCannotGoOn) {
  const Dataset data = damaged_source(4, -1).apply(assert_cardinality(9)).apply(ignore_errors());
  auto iterator = data.make_iterator();
  Tensors element;
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(iterator->next(element));
  EXPECT_THROW(iterator->next(element), Error);
  EXPECT_EQ(ignored_errors(*iterator), 0u);
}

TEST(IgnoreErrors, LeavesOutWholeBatches) {
  EXPECT_EQ(all(damaged_indexed_source(9, 5).batch(3).apply(ignore_errors())),
            (std::vector<std::vector<std::int64_t>>{{6, 7, 8}}));
}

const PositionsCase kIgnoreErrorsCases[] = {
    {"stream", [] { return damaged_source(9, 3).apply(ignore_errors()); }},
    {"shuffled", [] { return damaged_source(9, 4).shuffle(3, {.seed = 1}).apply(ignore_errors()).repeat(2); }},
    {"nothing_wrong", [] { return rows(5).apply(ignore_errors()).prefetch(2); }},
};
INSTANTIATE_TEST_SUITE_P(IgnoreErrors, Positions, testing::ValuesIn(kIgnoreErrorsCases), name_of_case);

}  // namespace
}  // namespace cohort::datasets::test
