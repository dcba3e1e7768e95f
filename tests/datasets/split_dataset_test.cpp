#include "cohort/datasets/utilities/split_dataset.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <span>

#include "cohort/datasets/utilities/python_random.h"
#include "tests/datasets/elements.h"
#include "tests/support/error_of.h"

namespace cohort::datasets::test {
namespace {

using cohort::test::error_of;
using testing::ElementsAre;
using testing::HasSubstr;
using utils::split_dataset;

std::vector<int> mixed_by_python(std::int64_t seed, int count) {
  std::vector<int> values(static_cast<std::size_t>(count));
  std::iota(values.begin(), values.end(), 0);
  utils::PythonRandom(seed).shuffle(std::span<int>(values));
  return values;
}

// Made with random.seed(seed); random.shuffle(list(range(count))).
TEST(PythonRandom, ShufflesAsPythonDoes) {
  EXPECT_THAT(mixed_by_python(0, 10), ElementsAre(7, 8, 1, 5, 3, 4, 2, 0, 9, 6));
  EXPECT_THAT(mixed_by_python(7, 10), ElementsAre(8, 3, 1, 4, 7, 0, 9, 6, 2, 5));
  EXPECT_THAT(mixed_by_python(-7, 10), ElementsAre(8, 3, 1, 4, 7, 0, 9, 6, 2, 5));
  EXPECT_THAT(mixed_by_python(123456789012, 12), ElementsAre(7, 8, 9, 11, 5, 1, 3, 2, 4, 0, 10, 6));
}

TEST(SplitDataset, SizesAreNumbersOrParts) {
  for (const Dataset& dataset : rows_and_range(10)) {
    const auto [left, right] = split_dataset(dataset, 0.25);
    EXPECT_THAT(numbers(left), ElementsAre(0, 1));  // halves to the even number, as Python rounds
    EXPECT_THAT(numbers(right), ElementsAre(2, 3, 4, 5, 6, 7, 8, 9));
    const auto [first, last] = split_dataset(dataset, {}, 3);
    EXPECT_EQ(first.cardinality(), 7);
    EXPECT_THAT(numbers(last), ElementsAre(7, 8, 9));
    const auto [few, some] = split_dataset(dataset, 2, 0.3);
    EXPECT_THAT(numbers(few), ElementsAre(0, 1));
    EXPECT_THAT(numbers(some), ElementsAre(7, 8, 9));
  }
}

// Keras gives these with seed=7.
TEST(SplitDataset, TheSameSeedGivesKerassSplit) {
  const auto [left, right] = split_dataset(range(10), 0.5, {}, {.shuffle = true, .seed = 7});
  EXPECT_THAT(numbers(left), ElementsAre(8, 3, 1, 4, 7));
  EXPECT_THAT(numbers(right), ElementsAre(0, 9, 6, 2, 5));
}

TEST(SplitDataset, NoElementIsOnBothSidesHoweverItIsShuffled) {
  const auto [left, right] = split_dataset(range(20).shuffle(20), 12);
  std::vector<std::int64_t> both = numbers(left);
  const std::vector<std::int64_t> others = numbers(right);
  both.insert(both.end(), others.begin(), others.end());
  std::sort(both.begin(), both.end());
  EXPECT_EQ(both, numbers(range(20)));
}

TEST(SplitDataset, ElementsOfBatchesAreSplitAndBatchedAgain) {
  const auto [left, right] = split_dataset(range(10).batch(4), 6);
  EXPECT_THAT(all(left), ElementsAre(ElementsAre(0, 1, 2, 3), ElementsAre(4, 5)));
  EXPECT_THAT(all(right), ElementsAre(ElementsAre(6, 7, 8, 9)));
}

TEST(SplitDataset, TakesTensorsAndKeepsTheirStructure) {
  const Element tensors = Element::dict(
      {{"x", Tensor::of<float>({1, 2, 3, 4, 5, 6}, {3, 2})}, {"name", Tensor::of_strings({"a", "b", "c"}, {3})}});
  const auto [left, right] = split_dataset(tensors, 1);
  EXPECT_EQ(to_string(left.element_spec()), to_string(from_tensor_slices(tensors).element_spec()));
  const Element last = right.skip(1).iterator().next();
  EXPECT_THAT(last.find("x")->leaf().to_vector<float>(), ElementsAre(5, 6));
  EXPECT_THAT(last.find("name")->leaf().to_strings(), ElementsAre("c"));
}

TEST(SplitDataset, RefusesSizesThatDoNotFit) {
  const auto error = [](utils::SplitSize left, utils::SplitSize right) {
    return error_of([&] { split_dataset(range(10), left, right); });
  };
  EXPECT_THAT(error({}, {}), HasSubstr("At least one of the `left_size` or `right_size` must be specified"));
  EXPECT_THAT(error(10, {}), HasSubstr("`left_size` should be either a positive integer smaller than 10"));
  EXPECT_THAT(error({}, 1.0), HasSubstr("`right_size` should be"));
  EXPECT_THAT(error(0, 0), HasSubstr("`left_size` should be"));
  EXPECT_THAT(error(0.6, 0.5), HasSubstr("less than or equal to 1"));
  EXPECT_THAT(error(8, 3), HasSubstr("should be smaller than 10"));
  EXPECT_THAT(error(0.01, {}), HasSubstr("neither side is empty"));
  EXPECT_THAT(error_of([] { split_dataset(range(3).repeat(), 1); }), HasSubstr("a dataset that ends"));
}

}  // namespace
}  // namespace cohort::datasets::test
