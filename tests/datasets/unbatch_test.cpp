#include "cohort/datasets/transforms/unbatch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "cohort/datasets/transforms/concatenate.h"
#include "cohort/datasets/transforms/zip.h"
#include "cohort/ops/slicing.h"
#include "tests/datasets/damaged_source.h"
#include "tests/datasets/positions.h"
#include "tests/datasets/stage_checks.h"

namespace cohort::datasets::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

Dataset of_rows(const Dataset& batches) { return batches.apply(unbatch()); }
// 0, 1, ... 19 in batches of 3, 3, 1, 0, 4, 4, 4 and 1.
Dataset of_many_sizes() {
  const Dataset none = range(2).batch(2).map([](Tensor x) { return ops::slice(x, {0}, {0}); });
  return range(7).batch(3).apply(concatenate(none)).apply(concatenate(range(7, 20).batch(4)));
}

TEST(Unbatch, GivesTheRowsOfTheBatches) {
  for (const Dataset& ten : rows_and_range(10)) {
    EXPECT_EQ(numbers(of_rows(ten.batch(3))), numbers(ten));
    EXPECT_EQ(numbers(of_rows(ten.prefetch(1).batch(3))), numbers(ten));
    EXPECT_EQ(numbers(of_rows(ten.batch(20))), numbers(ten));
    EXPECT_THAT(
        all(of_rows(ten.batch(2).batch(2))),
        ElementsAre(ElementsAre(0, 1), ElementsAre(2, 3), ElementsAre(4, 5), ElementsAre(6, 7), ElementsAre(8, 9)));
    EXPECT_TRUE(numbers(of_rows(ten.take(0).batch(3))).empty());
  }
  EXPECT_EQ(numbers(of_rows(of_many_sizes())), numbers(range(20)));
  EXPECT_EQ(to_string(of_rows(wide_rows(4).batch(2)).element_spec()), "(float32(5,), float32(1,))");
  const Dataset words = from_tensor_slices(Tensor::of_strings({"a", "b", "c"}, {3})).shuffle(3, {.seed = 1}).batch(2);
  auto iterator = of_rows(words).make_iterator();
  std::multiset<std::string> seen;
  for (Tensors element; iterator->next(element);) seen.insert(element[0].to_strings().at(0));
  EXPECT_EQ(seen, (std::multiset<std::string>{"a", "b", "c"}));
}

TEST(Unbatch, CardinalityIsKnownWhereTheSizeOfTheBatchesIs) {
  EXPECT_EQ(of_rows(range(10).batch(3)).cardinality(), kUnknownCardinality);
  EXPECT_EQ(of_rows(range(10).batch(3, {.drop_remainder = true})).cardinality(), 9);
  EXPECT_EQ(of_rows(range(10).batch(3, {.drop_remainder = true}).repeat()).cardinality(), kInfiniteCardinality);
  EXPECT_EQ(of_rows(range(10).repeat().batch(3)).cardinality(), kInfiniteCardinality);
  EXPECT_EQ(of_rows(from_tensor_slices(Tensor::full({4, 3}, 0))).cardinality(), 12);
}

TEST(Unbatch, RefusesWhatHasNoRows) {
  EXPECT_THAT([] { of_rows(range(3)); }, ThrowsMessage<Error>("Dataset.unbatch: batches are expected: "
                                                              "tensors with rows along axis 0, as many in "
                                                              "each. Received: element=int64()."));
  EXPECT_THROW(of_rows(range(4).batch(2).enumerate()), Error);
  const Dataset uneven =
      zip({from_tensor_slices(Tensor::full({4, 3}, 0)), from_tensor_slices(Tensor::full({4, 2}, 0))});
  EXPECT_THROW(of_rows(uneven), Error);
  // Where shapes do not tell, the batch does.
  auto iterator = of_rows(zip({range(4).batch(4), range(3).batch(3)})).make_iterator();
  Tensors element;
  EXPECT_THAT([&] { iterator->next(element); }, ThrowsMessage<Error>(HasSubstr("first=int64(4,), other=int64(3,)")));
  EXPECT_FALSE(iterator->next(element));
}

TEST(Unbatch, KeysAreThoseOfTheBatchAndTheRow) {
  std::set<std::uint64_t> keys;
  const auto found = outcomes(*of_rows(rows(20).batch(3)).make_iterator());
  for (const Outcome& outcome : found) keys.insert(outcome.key->number);
  EXPECT_EQ(keys.size(), 20u);
  const auto streamed = outcomes(*of_rows(rows(20).batch(3).prefetch(2)).make_iterator());
  EXPECT_TRUE(streamed == found);
  const auto shuffled = outcomes(*of_rows(rows(20).batch(3).shuffle(7, {.seed = 1})).make_iterator());
  for (const Outcome& outcome : shuffled) {
    EXPECT_EQ(outcome.key, found[static_cast<std::size_t>(outcome.leaves[0][0])].key);
  }
}

TEST(Unbatch, ABatchThatFailsIsSoManyRows) {
  // Of the batches of four, those with 0, 11 and 22 fail.
  const Dataset batches = damaged_indexed_source(24, 11).batch(4, {.drop_remainder = true});
  std::vector<std::int64_t> expected;
  for (std::int64_t i = 0; i < 24; ++i) expected.push_back(i / 4 == 0 || i / 4 == 2 || i / 4 == 5 ? -1 : i);
  EXPECT_EQ(numbers_or_errors(*of_rows(batches).make_iterator()), expected);
  expect_skip_equals_walking(of_rows(batches));
  expect_restores_anywhere(of_rows(batches));
  const Dataset of_any_size = damaged_indexed_source(12, 9).batch(4);
  EXPECT_THAT(numbers_or_errors(*of_rows(of_any_size).make_iterator()), ElementsAre(-1, 4, 5, 6, 7, -1));
  expect_skip_equals_walking(of_rows(of_any_size));
  expect_restores_anywhere(of_rows(of_any_size));
}

TEST(Unbatch, SkipsWhatWalkingWouldGive) {
  for (const Dataset& batches :
       {rows(11).batch(3), range(11).batch(3, {.drop_remainder = true}), range(11).prefetch(1).batch(3),
        of_many_sizes(), range(11).batch(2).shuffle(3, {.seed = 1})}) {
    expect_skip_equals_walking(of_rows(batches));
    expect_skip_equals_walking(of_rows(batches).repeat(2).batch(4));
    expect_restores_anywhere(of_rows(batches));
    expect_restores_anywhere(of_rows(batches).batch(4));
  }
}

TEST(Unbatch, ReadsNoBatchThatIsPassedBy) {
  const auto iterator = of_rows(damaged_indexed_source(1000, -1).batch(10, {.drop_remainder = true})).make_iterator();
  const std::int64_t before = elements_read();
  EXPECT_EQ(iterator->skip(985), 985u);
  EXPECT_EQ(elements_read() - before, 10);
  EXPECT_EQ(numbers(*iterator).size(), 15u);
  EXPECT_EQ(elements_read() - before, 20);
}

TEST(Unbatch, RefusesAPositionThatIsNotThere) {
  const Dataset data = of_rows(range(4).batch(4));
  const auto iterator = data.make_iterator();
  std::string state = iterator->save();
  const std::size_t row = state.find('u') + 1;
  ASSERT_EQ(state.at(row), 0);
  state[row] = 9;
  iterator->restore(state);
  Tensors element;
  EXPECT_THAT([&] { iterator->next(element); }, ThrowsMessage<Error>(HasSubstr("a position inside the dataset")));
}

TEST(Unbatch, AsksForNoMemoryInASteadyState) {
  expect_a_steady_state(of_rows(wide_rows(40).batch(8)));
  expect_a_steady_state(of_rows(wide_rows(40).shuffle(40, {.seed = 1}).batch(8)));
  expect_a_steady_state(of_rows(range(40).batch(8)).shuffle(10, {.seed = 1}).batch(4));
}

const PositionsCase kUnbatchCases[] = {
    {"rows", [] { return of_rows(rows(10).batch(4)); }},
    {"known", [] { return of_rows(range(10).batch(4, {.drop_remainder = true})); }},
    {"streamed", [] { return of_rows(range(10).shuffle(3, {.seed = 1}).batch(4)); }},
};
INSTANTIATE_TEST_SUITE_P(Unbatch, Positions, testing::ValuesIn(kUnbatchCases), name_of_case);

}  // namespace
}  // namespace cohort::datasets::test
