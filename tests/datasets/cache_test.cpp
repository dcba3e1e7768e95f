#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/datasets/positions.h"

namespace cohort::datasets::test {
namespace {

using testing::ElementsAre;

TEST(Cache, ReadsItsInputOnceAndHandsTheSameTensorsOut) {
  const Dataset dataset = rows(10).shuffle(10, {.seed = 1}).batch(4).cache();
  auto iterator = dataset.make_iterator();
  std::vector<Tensors> first;
  Tensors element;
  while (iterator->next(element)) first.push_back(element);
  for (auto& again : {dataset.make_iterator().release(), iterator.release()}) {
    std::unique_ptr<DatasetIterator> owner(again);
    owner->rewind();
    for (const Tensors& expected : first) {
      ASSERT_TRUE(owner->next(element));
      EXPECT_TRUE(element[0].same_as(expected[0]));
    }
    EXPECT_FALSE(owner->next(element));
  }
}

TEST(Cache, TakesUpAPassThatWasLeftHalfWay) {
  for (const Dataset& source : rows_and_range(6)) {
    auto iterator = source.cache().make_iterator();
    EXPECT_THAT(numbers(*iterator, 2), ElementsAre(0, 1));
    iterator->rewind();
    EXPECT_THAT(numbers(*iterator), ElementsAre(0, 1, 2, 3, 4, 5));
  }
}

const PositionsCase kCacheCases[] = {
    {"rows", [] { return rows(7).shuffle(7, {.seed = 5}).cache(); }},
    {"elements", [] { return range(7).shuffle(7, {.seed = 5}).cache(); }},
    {"batches", [] { return rows(9).batch(2).cache(); }},
    {"repeated", [] { return range(5).cache().repeat(3); }},
};
INSTANTIATE_TEST_SUITE_P(Cache, Positions, testing::ValuesIn(kCacheCases), name_of_case);

}  // namespace
}  // namespace cohort::datasets::test
