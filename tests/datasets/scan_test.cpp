#include "cohort/datasets/transforms/scan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cohort/ops/ops.h"
#include "cohort/ops/random_ops.h"
#include "tests/datasets/damaged_source.h"
#include "tests/datasets/positions.h"
#include "tests/datasets/skipping.h"
#include "tests/support/allocations.h"

namespace cohort::datasets::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

// tf.data's own example: the sum of what came before.
Dataset sums(const Dataset& data, std::int64_t start = 0) {
  return data.apply(scan(Tensor::of<std::int64_t>({start}, {}), [](const Element& state, const Element& x) {
    return std::pair<Element, Element>(state.leaf() + x.leaf(), state.leaf() + x.leaf());
  }));
}

TEST(Scan, CarriesAStateFromElementToElement) {
  for (const Dataset& data : rows_and_range(6)) {
    EXPECT_THAT(numbers(sums(data)), ElementsAre(0, 1, 3, 6, 10, 15));
    EXPECT_THAT(numbers(sums(data, 5)), ElementsAre(5, 6, 8, 11, 15, 20));
    EXPECT_EQ(sums(data).cardinality(), 6);
    EXPECT_EQ(to_string(sums(data).element_spec()), "int64()");
  }
}

TEST(Scan, BeginsEveryPassAnew) {
  auto iterator = sums(range(4)).make_iterator();
  EXPECT_THAT(numbers(*iterator), ElementsAre(0, 1, 3, 6));
  iterator->rewind();
  EXPECT_THAT(numbers(*iterator), ElementsAre(0, 1, 3, 6));
  EXPECT_THAT(numbers(sums(range(3)).repeat(2)), ElementsAre(0, 1, 3, 0, 1, 3));
  EXPECT_THAT(numbers(sums(range(3).repeat(2))), ElementsAre(0, 1, 3, 3, 4, 6));
}

TEST(Scan, TakesStructuresAndPassesStatesThrough) {
  const Dataset data = range(4).apply(
      scan(Element::dict({{"last", Tensor::of<std::int64_t>({7}, {})}, {"fixed", Tensor::of<std::int64_t>({3}, {})}}),
           [](const Element& state, const Element& x) {
             const Tensor last = state.find("last")->leaf(), fixed = state.find("fixed")->leaf();
             return std::pair(Element::dict({{"last", x}, {"fixed", fixed}}), Element::tuple({last, x.leaf() * fixed}));
           }));
  EXPECT_EQ(all(data), (std::vector<std::vector<std::int64_t>>{{7}, {0}, {1}, {2}}));
  EXPECT_EQ(all(data, 1), (std::vector<std::vector<std::int64_t>>{{0}, {3}, {6}, {9}}));
}

// All that came so far, in a state that grows.
Dataset collected(const Dataset& data) {
  return data.apply(
      scan(Tensor::of<std::int64_t>(std::vector<std::int64_t>{}, {0}), [](const Element& state, const Element& x) {
        const Tensor longer = ops::concatenate({state.leaf(), ops::reshape(x.leaf(), {1})}, 0);
        return std::pair<Element, Element>(longer, longer);
      }));
}

TEST(Scan, StatesMayGrow) {
  EXPECT_EQ(all(collected(range(3))), (std::vector<std::vector<std::int64_t>>{{0}, {0, 1}, {0, 1, 2}}));
  EXPECT_EQ(to_string(collected(range(3)).element_spec()), "int64(None,)");
}

TEST(Scan, ElementsThatFailLeaveTheState) {
  for (const Dataset& data : {damaged_source(8, 3), damaged_indexed_source(8, 3)}) {
    EXPECT_EQ(
        rest_with_errors(*sums(data).make_iterator()),
        (std::vector<std::vector<std::int64_t>>{{INT64_MIN}, {1}, {3}, {INT64_MIN}, {7}, {12}, {INT64_MIN}, {19}}));
    expect_passing_by_equals_walking(sums(data));
  }
}

TEST(Scan, SkipsAsItWalks) {
  expect_passing_by_equals_walking(sums(rows(9)));
  expect_passing_by_equals_walking(collected(range(5)));
}

TEST(Scan, RefusesStatesThatChangeTheirType) {
  EXPECT_THAT(
      [] { range(3).apply(scan(Tensor::scalar(0), [](const Element&, const Element& x) { return std::pair(x, x); })); },
      ThrowsMessage<Error>(HasSubstr("Received: state=float32(), next=int64()")));
  EXPECT_THAT(
      [] {
        range(3).apply(scan(Tensor::scalar(0, int64), [](const Element& state, const Element& x) {
          return std::pair(Element::tuple({state, x}), x);
        }));
      },
      ThrowsMessage<Error>(HasSubstr("a next state of the structure of the initial one is expected")));
  EXPECT_THROW(scan(Tensor(), [](const Element&, const Element& x) { return std::pair(x, x); }), Error);
}

TEST(Scan, AllocatesNothingInASteadyState) {
  if (!cohort::test::allocations_are_counted()) GTEST_SKIP() << "a sanitizer owns the heap";
  auto iterator = sums(range(100)).make_iterator();
  Tensors element;
  for (int i = 0; i < 5; ++i) iterator->next(element);
  const std::uint64_t before = cohort::test::allocations();
  while (iterator->next(element)) {
  }
  EXPECT_EQ(cohort::test::allocations() - before, 0u);
}

TEST(Scan, ElementsThatAreKeptStayAsTheyWere) {
  auto iterator = sums(range(50)).make_iterator();
  std::vector<Tensors> kept;
  Tensors element;
  while (iterator->next(element)) kept.push_back(element);
  ASSERT_EQ(kept.size(), 50u);
  for (std::int64_t i = 0; i < 50; ++i) {
    EXPECT_EQ(kept[static_cast<std::size_t>(i)][0].item<std::int64_t>(), i * (i + 1) / 2);
  }
}

const PositionsCase kScanCases[] = {
    {"sums", [] { return sums(rows(9).shuffle(9, {.seed = 4}), 3); }},
    {"of_a_stream", [] { return sums(damaged_source(9, -1)).prefetch(2); }},
    {"growing", [] { return collected(rows(6)).repeat(2); }},
    {"draws",
     [] {
       return rows(9).apply(scan(Tensor::scalar(0), [](const Element& state, const Element&) {
         const Tensor next = state.leaf() + ops::random_uniform({}, 0, 1000, DType::Float32, 5);
         return std::pair<Element, Element>(next, ops::cast(next, int64));
       }));
     }},
};
INSTANTIATE_TEST_SUITE_P(Scan, Positions, testing::ValuesIn(kScanCases), name_of_case);

}  // namespace
}  // namespace cohort::datasets::test
