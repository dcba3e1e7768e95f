#include "cohort/datasets/transforms/assert_cardinality.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cohort/datasets/transforms/ignore_errors.h"
#include "tests/datasets/damaged_source.h"
#include "tests/datasets/positions.h"
#include "tests/datasets/skipping.h"

namespace cohort::datasets::test {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

TEST(AssertCardinality, SaysHowManyThereAre) {
  const Dataset unknown = damaged_source(5, -1).apply(ignore_errors());
  ASSERT_EQ(unknown.cardinality(), kUnknownCardinality);
  const Dataset data = unknown.apply(assert_cardinality(5));
  EXPECT_EQ(data.cardinality(), 5);
  EXPECT_EQ(numbers(data), numbers(range(5)));
  EXPECT_EQ(range(5).repeat().apply(assert_cardinality(kInfiniteCardinality)).cardinality(), kInfiniteCardinality);
}

TEST(AssertCardinality, RefusesMoreAndFewerWhenTheyCome) {
  for (const Dataset& source : {range(5), damaged_source(5, -1), rows(5)}) {
    const Dataset fewer = source.apply(assert_cardinality(6));
    auto iterator = fewer.make_iterator();
    Tensors element;
    for (int i = 0; i < 5; ++i) ASSERT_TRUE(iterator->next(element));
    for (int again = 0; again < 2; ++again) {
      EXPECT_THAT([&] { iterator->next(element); },
                  ThrowsMessage<Error>("Dataset.assert_cardinality: as many elements as were said are expected. "
                                       "Received: expected_cardinality=6, elements=5."));
    }
    const Dataset more = source.apply(assert_cardinality(4));
    iterator = more.make_iterator();
    for (int i = 0; i < 4; ++i) ASSERT_TRUE(iterator->next(element));
    for (int again = 0; again < 2; ++again) {
      EXPECT_THAT([&] { iterator->next(element); }, ThrowsMessage<Error>(HasSubstr("at least=5")));
    }
    EXPECT_EQ(fewer.make_iterator()->skip(5), 5u);
    EXPECT_THROW(fewer.make_iterator()->skip(6), Error);
    EXPECT_EQ(more.make_iterator()->skip(4), 4u);
    EXPECT_THROW(more.make_iterator()->skip(5), Error);
    EXPECT_THAT([&] { numbers(source.apply(assert_cardinality(kInfiniteCardinality))); },
                ThrowsMessage<Error>(HasSubstr("expected_cardinality=without end, elements=5")));
  }
  EXPECT_THROW(range(5).apply(assert_cardinality(-2)), Error);
}

TEST(AssertCardinality, CountsElementsThatFail) {
  for (const Dataset& source : {damaged_source(7, 3), damaged_indexed_source(7, 3)}) {
    const Dataset data = source.apply(assert_cardinality(7));
    EXPECT_EQ(rest_with_errors(*data.make_iterator()).size(), 7u);
    expect_passing_by_equals_walking(data);
  }
}

TEST(AssertCardinality, KeepsElementsReachable) {
  EXPECT_TRUE(rows(5).apply(assert_cardinality(5)).stage().is_indexed());
  EXPECT_FALSE(rows(5).apply(assert_cardinality(6)).stage().is_indexed());
}

const PositionsCase kAssertCardinalityCases[] = {
    {"rows", [] { return rows(7).apply(assert_cardinality(7)); }},
    {"stream", [] { return damaged_source(7, -1).apply(ignore_errors()).apply(assert_cardinality(7)); }},
    {"places", [] { return rows(7).shuffle(3, {.seed = 1}).apply(assert_cardinality(7)).repeat(2).batch(3); }},
};
INSTANTIATE_TEST_SUITE_P(AssertCardinality, Positions, testing::ValuesIn(kAssertCardinalityCases), name_of_case);

}  // namespace
}  // namespace cohort::datasets::test
