#include "cohort/datasets/transforms/filter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "cohort/ops/math.h"
#include "cohort/ops/random_ops.h"
#include "cohort/ops/reduce.h"
#include "cohort/variables/variable.h"
#include "tests/datasets/damaged_source.h"
#include "tests/datasets/positions.h"
#include "tests/datasets/stage_checks.h"

namespace cohort::datasets::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

Tensor is_even(const Tensor& x) { return ops::equal(ops::mod(x, 2.0), 0.0); }
Dataset evens(const Dataset& data) {
  return data.apply(filter([](Tensor x) { return is_even(x); }));
}

TEST(Filter, KeepsTheElementsForWhichTheFunctionHolds) {
  for (const Dataset& ten : rows_and_range(10)) {
    EXPECT_THAT(numbers(evens(ten)), ElementsAre(0, 2, 4, 6, 8));
    EXPECT_THAT(numbers(evens(ten.skip(3).shard(2, 0))), ElementsAre());
    EXPECT_THAT(numbers(evens(ten.take(0))), ElementsAre());
    EXPECT_EQ(evens(ten).cardinality(), kUnknownCardinality) << "as in tf.data, however short the input is";
    EXPECT_EQ(to_string(evens(ten).element_spec()), "int64()");
  }
}

TEST(Filter, TakesTheTensorsOrTheElement) {
  const Dataset pairs = range(6).enumerate();
  const Dataset of_tensors = pairs.apply(filter([](Tensor, Tensor x) { return ops::less(x, 2.0); }));
  const Dataset of_element = pairs.apply(filter([](const Element& e) { return ops::less(e[1].leaf(), 2.0); }));
  for (const Dataset& data : {of_tensors, of_element}) EXPECT_THAT(numbers(data), ElementsAre(0, 1));
  const Dataset batches = range(9).batch(3).apply(filter([](Tensor x) { return ops::any(ops::equal(x, 4.0)); }));
  EXPECT_THAT(all(batches), ElementsAre(ElementsAre(3, 4, 5)));
}

TEST(Filter, RefusesWhatGivesNoSingleBool) {
  EXPECT_THAT([] { range(3).apply(filter([](Tensor x) { return x; })); },
              ThrowsMessage<Error>("Dataset.filter: a function that gives one "
                                   "bool without axes is expected. Received: "
                                   "result=int64(). Compare values, and reduce "
                                   "tensors with ops::all or ops::any."));
  EXPECT_THAT([] { range(4).batch(2).apply(filter([](Tensor x) { return is_even(x); })); },
              ThrowsMessage<Error>(HasSubstr("result=bool(None,)")));
  EXPECT_THAT([] { range(3).apply(filter([](Tensor x) { return std::tuple(is_even(x), is_even(x)); })); },
              ThrowsMessage<Error>(HasSubstr("result=(bool(), bool())")));
  EXPECT_THAT([] { range(3).apply(filter([](Tensor x, Tensor) { return is_even(x); })); },
              ThrowsMessage<Error>("Dataset.filter: the function takes one argument "
                                   "for each tensor of an element. "
                                   "Received: arguments=2, tensors=1."));
  const Variable variable(Tensor::scalar(2));
  EXPECT_THAT([&] { range(3).apply(filter([&](Tensor) { return ops::less(variable.value(), 2.0); })); },
              ThrowsMessage<Error>(HasSubstr("no variables that are trained")));
}

TEST(Filter, GoesOnBehindElementsThatFail) {
  for (const Dataset& source : {damaged_source(12, 5), damaged_indexed_source(12, 5)}) {
    EXPECT_THAT(numbers_or_errors(*evens(source).make_iterator()), ElementsAre(-1, 2, 4, -1, 6, 8, -1));
    expect_restores_anywhere(evens(source));
    expect_skip_equals_walking(evens(source));
  }
}

TEST(Filter, KeysAndDrawsAreThoseOfTheElements) {
  const auto chosen = [](const Dataset& data) {
    return data.apply(filter([](Tensor) { return ops::less(ops::random_uniform({}, 0, 1, DType::Float32, 5), 0.5); }));
  };
  const auto iterator = chosen(rows(100)).make_iterator();
  const std::vector<std::int64_t> first = numbers(*iterator);
  EXPECT_GT(first.size(), 25u);
  EXPECT_LT(first.size(), 75u);
  iterator->rewind();
  EXPECT_NE(numbers(*iterator), first) << "another epoch draws anew";
  std::multiset<std::int64_t> expected(first.begin(), first.end()), shuffled, sharded;
  for (const std::int64_t number : numbers(chosen(rows(100).shuffle(100, {.seed = 1})))) shuffled.insert(number);
  for (const std::int64_t shard : {0, 1, 2}) {
    for (const std::int64_t number : numbers(chosen(rows(100).shard(3, shard)))) sharded.insert(number);
  }
  EXPECT_EQ(shuffled, expected);
  EXPECT_EQ(sharded, expected);
  for (const Outcome& outcome : outcomes(*evens(rows(9)).make_iterator())) {
    EXPECT_EQ(outcome.key->number, static_cast<std::uint64_t>(outcome.leaves[0][0]));
  }
}

TEST(Filter, SkipsWhatWalkingWouldGive) {
  for (const Dataset& source : rows_and_range(15)) {
    expect_skip_equals_walking(evens(source));
    expect_skip_equals_walking(evens(source).repeat(2).batch(3));
    expect_restores_anywhere(evens(source).batch(3));
  }
}

TEST(Filter, AsksForNoMemoryInASteadyState) {
  expect_a_steady_state(evens(range(40)));
  expect_a_steady_state(
      wide_rows(40).apply(filter([](Tensor x, Tensor) { return ops::less(ops::sum(x), 500.0); })).batch(4));
}

const PositionsCase kFilterCases[] = {
    {"rows", [] { return evens(rows(9)); }},
    {"elements", [] { return evens(range(9)); }},
    {"shuffled", [] { return evens(range(13).shuffle(4, {.seed = 5})).batch(2); }},
};
INSTANTIATE_TEST_SUITE_P(Filter, Positions, testing::ValuesIn(kFilterCases), name_of_case);

}  // namespace
}  // namespace cohort::datasets::test
