#include "cohort/datasets/transforms/take_while.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cohort/ops/math.h"
#include "tests/datasets/damaged_source.h"
#include "tests/datasets/positions.h"
#include "tests/datasets/stage_checks.h"

namespace cohort::datasets::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

Dataset while_below(const Dataset& data, double limit) {
  return data.apply(take_while([limit](Tensor x) { return ops::less(x, limit); }));
}

TEST(TakeWhile, EndsAtTheFirstElementForWhichTheFunctionDoesNotHold) {
  for (const Dataset& ten : rows_and_range(10)) {
    EXPECT_THAT(numbers(while_below(ten, 3)), ElementsAre(0, 1, 2));
    EXPECT_THAT(numbers(while_below(ten, 0)), ElementsAre());
    EXPECT_EQ(numbers(while_below(ten, 99)).size(), 10u);
    EXPECT_THAT(numbers(while_below(ten.repeat(), 3)), ElementsAre(0, 1, 2));
    EXPECT_EQ(while_below(ten, 3).cardinality(), kUnknownCardinality);
    EXPECT_EQ(to_string(while_below(ten, 3).element_spec()), "int64()");
  }
}

TEST(TakeWhile, StaysAtTheEndUntilTheNextEpoch) {
  // After 0, 1, 2 comes 9, then smaller ones again.
  const auto iterator =
      while_below(from_tensor_slices(Tensor::of<std::int64_t>({0, 1, 2, 9, 1}, {5})), 3).make_iterator();
  EXPECT_EQ(numbers(*iterator).size(), 3u);
  Tensors element;
  EXPECT_FALSE(iterator->next(element));
  EXPECT_EQ(iterator->skip(1), 0u);
  iterator->rewind();
  EXPECT_THAT(numbers(*iterator), ElementsAre(0, 1, 2));
}

TEST(TakeWhile, GoesOnBehindElementsThatFail) {
  for (const Dataset& source : {damaged_source(12, 3), damaged_indexed_source(12, 3)}) {
    EXPECT_THAT(numbers_or_errors(*while_below(source, 5).make_iterator()), ElementsAre(-1, 1, 2, -1, 4));
    expect_skip_equals_walking(while_below(source, 5));
    expect_restores_anywhere(while_below(source, 5));
  }
}

TEST(TakeWhile, SkipsWhatWalkingWouldGive) {
  for (const Dataset& source : rows_and_range(15)) {
    expect_skip_equals_walking(while_below(source, 7));
    expect_skip_equals_walking(while_below(source, 7).repeat(2).batch(3));
    expect_restores_anywhere(while_below(source, 7).repeat(2));
  }
}

TEST(TakeWhile, RefusesWhatGivesNoSingleBool) {
  EXPECT_THAT([] { range(3).apply(take_while([](Tensor x) { return x; })); },
              ThrowsMessage<Error>(HasSubstr("Dataset.take_while: a function that gives one bool")));
}

TEST(TakeWhile, AsksForNoMemoryInASteadyState) { expect_a_steady_state(while_below(range(40), 9)); }

const PositionsCase kTakeWhileCases[] = {
    {"rows", [] { return while_below(rows(9), 6); }},
    {"elements", [] { return while_below(range(9), 6).batch(2); }},
};
INSTANTIATE_TEST_SUITE_P(TakeWhile, Positions, testing::ValuesIn(kTakeWhileCases), name_of_case);

}  // namespace
}  // namespace cohort::datasets::test
