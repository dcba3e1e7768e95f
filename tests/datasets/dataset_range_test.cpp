#include "cohort/data/dataset_range.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <iterator>
#include <set>

#include "tests/datasets/damaged_source.h"
#include "tests/datasets/elements.h"

namespace cohort::datasets::test {
namespace {

using testing::ElementsAre;

static_assert(std::input_iterator<ElementIterator>);
static_assert(std::sentinel_for<std::default_sentinel_t, ElementIterator>);

TEST(DatasetRange, LoopsOverTheElements) {
  const Dataset data = range(4);
  // Each loop begins with the first element.
  for (int loop = 0; loop < 2; ++loop) {
    std::vector<std::int64_t> seen;
    for (const Element& element : data) seen.push_back(element.leaf().item<std::int64_t>());
    EXPECT_THAT(seen, ElementsAre(0, 1, 2, 3));
  }
  for (const Element& element : range(0)) FAIL() << element.size();
}

TEST(DatasetRange, ElementsHaveTheirStructure) {
  std::int64_t expected = 0;
  for (const Element& pair : from_tensor_slices(Tensor::of<float>({5, 6}, {2}, cpu())).enumerate()) {
    EXPECT_EQ(pair[0].leaf().item<std::int64_t>(), expected);
    EXPECT_EQ(pair[1].leaf().item<float>(), static_cast<float>(5 + expected++));
  }
  EXPECT_EQ(expected, 2);
}

TEST(DatasetRange, ElementsThatAreKeptStayAsTheyWere) {
  std::vector<Element> kept;
  for (const Element& element : range(10)) kept.push_back(element);
  ASSERT_EQ(kept.size(), 10u);
  for (std::int64_t i = 0; i < 10; ++i) {
    EXPECT_EQ(kept[static_cast<std::size_t>(i)].leaf().item<std::int64_t>(), i);
  }
}

TEST(DatasetRange, UsesTheMemoryOfElementsThatAreNotKept) {
  std::set<const void*> memory;
  for (const Element& element : range(50)) memory.insert(element.leaf().raw());
  EXPECT_LE(memory.size(), 2u);
}

TEST(DatasetRange, ErrorsEndTheLoop) {
  int seen = 0;
  EXPECT_THROW(
      {
        for (const Element& element : damaged_source(9, 4).skip(1)) seen += element.is_leaf() ? 1 : 0;
      },
      Error);
  EXPECT_EQ(seen, 3);
}

TEST(DatasetRange, RefusesToGoPastTheEnd) {
  ElementIterator iterator = begin(range(1));
  EXPECT_EQ(iterator->leaf().item<std::int64_t>(), 0);
  ++iterator;
  EXPECT_TRUE(iterator == std::default_sentinel);
  EXPECT_THROW(++iterator, Error);
  EXPECT_THROW(*iterator, Error);
  EXPECT_TRUE(ElementIterator() == std::default_sentinel);
}

}  // namespace
}  // namespace cohort::datasets::test
