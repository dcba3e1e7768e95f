#include "cohort/datasets/transforms/concatenate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "cohort/datasets/transforms/filter.h"
#include "cohort/ops/math.h"
#include "tests/datasets/damaged_source.h"
#include "tests/datasets/positions.h"
#include "tests/datasets/stage_checks.h"

namespace cohort::datasets::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

Dataset joined(const Dataset& first, const Dataset& second) { return first.apply(concatenate(second)); }
// Not to be reached by number.
Dataset streamed(const Dataset& data) { return data.prefetch(1); }

TEST(Concatenate, GivesOneDatasetAfterTheOther) {
  const Dataset others[] = {range(10, 13), streamed(range(10, 13))};
  for (const Dataset& three : rows_and_range(3)) {
    for (const Dataset& other : others) {
      EXPECT_THAT(numbers(joined(three, other)), ElementsAre(0, 1, 2, 10, 11, 12));
      EXPECT_THAT(numbers(joined(other, three)), ElementsAre(10, 11, 12, 0, 1, 2));
      EXPECT_THAT(numbers(joined(three.take(0), other)), ElementsAre(10, 11, 12));
      EXPECT_THAT(numbers(joined(other, three.take(0))), ElementsAre(10, 11, 12));
      EXPECT_THAT(numbers(joined(joined(three, other), three)), ElementsAre(0, 1, 2, 10, 11, 12, 0, 1, 2));
      EXPECT_THAT(numbers(joined(three, other).repeat(2).skip(4).take(4)), ElementsAre(11, 12, 0, 1));
      EXPECT_THAT(all(joined(three, other).batch(4)), ElementsAre(ElementsAre(0, 1, 2, 10), ElementsAre(11, 12)));
    }
  }
}

TEST(Concatenate, AddsCardinalities) {
  const Dataset few = range(3), endless = range(3).repeat(),
                unknown = few.apply(filter([](Tensor x) { return ops::less(x, 2.0); }));
  EXPECT_EQ(joined(few, range(4)).cardinality(), 7);
  EXPECT_EQ(joined(few, endless).cardinality(), kInfiniteCardinality);
  EXPECT_EQ(joined(endless, few).cardinality(), kInfiniteCardinality);
  EXPECT_EQ(joined(few, unknown).cardinality(), kUnknownCardinality);
  EXPECT_EQ(joined(unknown, few).cardinality(), kUnknownCardinality);
  EXPECT_EQ(joined(unknown, endless).cardinality(), kInfiniteCardinality);
  EXPECT_THAT(numbers(joined(unknown, few)), ElementsAre(0, 1, 0, 1, 2));
  EXPECT_THAT(numbers(joined(few, endless).take(5)), ElementsAre(0, 1, 2, 0, 1));
  EXPECT_EQ(joined(few, range(INT64_MAX)).cardinality(), kInfiniteCardinality);
}

TEST(Concatenate, MergesShapes) {
  const Dataset first = from_tensor_slices(Tensor::full({2, 3, 4}, 0)),
                second = from_tensor_slices(Tensor::full({2, 5, 4}, 0));
  EXPECT_EQ(to_string(joined(first, second).element_spec()), "float32(None, 4)");
  EXPECT_EQ(to_string(joined(first, first).element_spec()), "float32(3, 4)");
  auto iterator = joined(first, second).make_iterator();
  Tensors element;
  for (const std::int64_t size : {3, 3, 5, 5}) {
    ASSERT_TRUE(iterator->next(element));
    EXPECT_EQ(element[0].shape()[0], size);
  }
}

TEST(Concatenate, RefusesElementsThatDiffer) {
  EXPECT_THAT([] { joined(range(3), range(3).enumerate()); },
              ThrowsMessage<Error>("Dataset.concatenate: datasets of the same "
                                   "structure, types and numbers of axes are "
                                   "expected. Received: first=int64(), "
                                   "second=(int64(), int64()). Bring the elements of "
                                   "one to those of the other with a map."));
  EXPECT_THROW(joined(range(3), range(3).batch(2)), Error);
  EXPECT_THROW(joined(range(3), from_tensor_slices(Tensor::full({3}, 0))), Error);
  EXPECT_THROW(joined(range(3), Dataset()), Error);
  EXPECT_THROW(Dataset::make("concatenate", {range(3)}, {}), Error);
}

TEST(Concatenate, KeysOfTheSecondAreItsOwn) {
  for (const Dataset& data : {joined(rows(20), rows(20)), joined(streamed(rows(20)), rows(20))}) {
    std::set<std::uint64_t> keys;
    const std::vector<Outcome> found = outcomes(*data.make_iterator());
    for (const Outcome& outcome : found) keys.insert(outcome.key->number);
    EXPECT_EQ(keys.size(), 40u);
    EXPECT_EQ(found[7].key, (ElementKey{0, 7}));
    EXPECT_TRUE(found == outcomes(*joined(rows(20), rows(20)).make_iterator())) << "known alike however they are read";
  }
}

TEST(Concatenate, IsReadByNumber) {
  const Dataset data = joined(damaged_indexed_source(500, -1), damaged_indexed_source(500, -1));
  ASSERT_TRUE(data.stage().is_indexed());
  const auto iterator = data.shuffle(1000, {.seed = 1}).batch(10).make_iterator();
  const std::int64_t before = elements_read();
  EXPECT_EQ(iterator->skip(90), 90u);
  EXPECT_EQ(elements_read() - before, 0);
  EXPECT_EQ(rest(*iterator).size(), 10u);
  EXPECT_EQ(elements_read() - before, 100);
  std::vector<std::int64_t> shuffled = numbers(joined(rows(100), range(100, 300)).shuffle(300, {.seed = 2}));
  EXPECT_FALSE(std::ranges::is_sorted(shuffled));
  std::ranges::sort(shuffled);
  EXPECT_EQ(shuffled, numbers(range(300)));
  // Batches whose rows come from both, of rows in memory and of others.
  std::vector<std::int64_t> in_batches;
  for (const auto& batch : all(joined(rows(100), range(100, 300)).shuffle(300, {.seed = 2}).batch(70))) {
    in_batches.insert(in_batches.end(), batch.begin(), batch.end());
  }
  std::ranges::sort(in_batches);
  EXPECT_EQ(in_batches, numbers(range(300)));
}

TEST(Concatenate, GoesOnBehindElementsThatFail) {
  for (const Dataset& source : {damaged_source(5, 2), damaged_indexed_source(5, 2)}) {
    EXPECT_THAT(numbers_or_errors(*joined(source, range(7, 9)).make_iterator()), ElementsAre(-1, 1, -1, 3, -1, 7, 8));
    EXPECT_THAT(numbers_or_errors(*joined(range(7, 9), source).make_iterator()), ElementsAre(7, 8, -1, 1, -1, 3, -1));
    expect_skip_equals_walking(joined(source, source));
    expect_restores_anywhere(joined(source, source));
  }
}

TEST(Concatenate, SkipsWhatWalkingWouldGive) {
  for (const Dataset& source : {rows(5), range(5), streamed(range(5))}) {
    expect_skip_equals_walking(joined(source, range(7)));
    expect_skip_equals_walking(joined(range(7), source).batch(4));
    expect_skip_equals_walking(joined(range(7), joined(source, rows(2))).shard(2, 1));
    expect_restores_anywhere(joined(source.shuffle(9, {.seed = 1}), range(7).shuffle(3, {.seed = 1})));
  }
}

TEST(Concatenate, AsksForNoMemoryInASteadyState) {
  expect_a_steady_state(joined(wide_rows(20), wide_rows(30)));
  expect_a_steady_state(joined(wide_rows(20), wide_rows(30)).batch(8, {.drop_remainder = true}));
  expect_a_steady_state(joined(wide_rows(20), wide_rows(30)).shuffle(50, {.seed = 1}).batch(8));
  expect_a_steady_state(joined(range(20), range(9).shuffle(4, {.seed = 1})).batch(5));
}

const PositionsCase kConcatenateCases[] = {
    {"rows", [] { return joined(rows(5), rows(4)); }},
    {"streamed", [] { return joined(streamed(range(5)), rows(4)); }},
    {"shuffled", [] { return joined(rows(5), range(4)).shuffle(9, {.seed = 5}); }},
    {"shuffled_before", [] { return joined(rows(5).shuffle(5, {.seed = 1}), range(4).shuffle(2, {.seed = 5})); }},
    {"without_end", [] { return joined(rows(5), range(4).repeat()); }},
};
INSTANTIATE_TEST_SUITE_P(Concatenate, Positions, testing::ValuesIn(kConcatenateCases), name_of_case);

}  // namespace
}  // namespace cohort::datasets::test
