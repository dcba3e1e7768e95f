#include "cohort/datasets/transforms/sample_from_datasets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "tests/datasets/damaged_source.h"
#include "tests/datasets/positions.h"
#include "tests/datasets/skipping.h"

namespace cohort::datasets::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

Dataset hundreds(std::int64_t hundred, std::int64_t count) { return range(100 * hundred, 100 * hundred + count); }

TEST(SampleFromDatasets, GivesEveryElementOnceAndInItsOrder) {
  const Dataset data = sample_from_datasets({hundreds(0, 20), hundreds(1, 5), hundreds(2, 40)}, {.seed = 1});
  EXPECT_EQ(data.cardinality(), 65);
  std::map<std::int64_t, std::vector<std::int64_t>> by_source;
  for (const std::int64_t number : numbers(data)) by_source[number / 100].push_back(number);
  EXPECT_EQ(by_source[0], numbers(hundreds(0, 20)));
  EXPECT_EQ(by_source[1], numbers(hundreds(1, 5)));
  EXPECT_EQ(by_source[2], numbers(hundreds(2, 40)));
}

TEST(SampleFromDatasets, ChoosesByWeight) {
  const Dataset data = sample_from_datasets({hundreds(0, 1).repeat(), hundreds(1, 1).repeat(), hundreds(2, 1).repeat()},
                                            {.weights = {6, 1, 3}, .seed = 4});
  EXPECT_EQ(data.cardinality(), kInfiniteCardinality);
  std::map<std::int64_t, int> counts;
  for (const std::int64_t number : numbers(*data.make_iterator(), 10000)) ++counts[number / 100];
  // Four standard deviations.
  EXPECT_NEAR(counts[0], 6000, 200);
  EXPECT_NEAR(counts[1], 1000, 120);
  EXPECT_NEAR(counts[2], 3000, 184);
}

TEST(SampleFromDatasets, LeavesOutWhatWeighsNothing) {
  EXPECT_THAT(numbers(sample_from_datasets({hundreds(0, 3), hundreds(1, 3)}, {.weights = {0, 2}})),
              ElementsAre(100, 101, 102));
  EXPECT_TRUE(numbers(sample_from_datasets({hundreds(0, 3), hundreds(1, 3)}, {.weights = {0, 0}})).empty());
  EXPECT_THAT(numbers(sample_from_datasets({hundreds(0, 2)})), ElementsAre(0, 1));
}

// What is left is chosen among itself, however little it weighed beside what has ended.
TEST(SampleFromDatasets, GoesOnWithLightOnes) {
  const Dataset data = sample_from_datasets({hundreds(0, 2), hundreds(1, 2), hundreds(2, 2)},
                                            {.weights = {1, 1e-200, 1e-200}, .seed = 2});
  EXPECT_EQ(numbers(data).size(), 6u);
}

TEST(SampleFromDatasets, StopsWhereOneHasEndedIfAsked) {
  for (std::int64_t seed = 0; seed < 20; ++seed) {
    const Dataset data =
        sample_from_datasets({hundreds(0, 4), hundreds(1, 4)}, {.seed = seed, .stop_on_empty_dataset = true});
    EXPECT_EQ(data.cardinality(), kUnknownCardinality);
    auto iterator = data.make_iterator();
    int of_first = 0, of_second = 0;
    for (const std::int64_t number : numbers(*iterator)) ++(number < 100 ? of_first : of_second);
    EXPECT_EQ(std::max(of_first, of_second), 4);
    Tensors element;
    EXPECT_FALSE(iterator->next(element)) << "and again when asked again";
  }
}

TEST(SampleFromDatasets, ChoosesAnewIfAsked) {
  for (const bool anew : {false, true}) {
    const Dataset data =
        sample_from_datasets({hundreds(0, 30), hundreds(1, 30)}, {.seed = 3, .rerandomize_each_iteration = anew});
    auto iterator = data.make_iterator();
    const auto first = numbers(*iterator);
    iterator->rewind();
    EXPECT_EQ(numbers(*iterator) != first, anew);
    EXPECT_EQ(numbers(data) != first, anew) << "a loop that makes an iterator for each epoch";
  }
  const auto of_seed = [](std::int64_t seed) {
    return numbers(sample_from_datasets({hundreds(0, 30), hundreds(1, 30)}, {.seed = seed}));
  };
  EXPECT_EQ(of_seed(3), of_seed(3));
  EXPECT_NE(of_seed(3), of_seed(4));
}

TEST(SampleFromDatasets, ElementsOfDifferentSourcesAreKnownApart) {
  auto iterator = sample_from_datasets({range(20), range(20)}, {.seed = 3}).make_iterator();
  std::set<std::uint64_t> keys;
  Tensors element;
  while (iterator->next(element)) keys.insert(iterator->key()->number);
  EXPECT_EQ(keys.size(), 40u);
}

TEST(SampleFromDatasets, SkipsAsItWalks) {
  for (const bool stop : {false, true}) {
    for (std::int64_t seed = 0; seed < 3; ++seed) {
      const SampleOptions options{.weights = {2, 1, 1}, .seed = seed, .stop_on_empty_dataset = stop};
      expect_passing_by_equals_walking(
          sample_from_datasets({damaged_source(9, 4), range(0), damaged_indexed_source(5, 3)}, options));
      expect_passing_by_equals_walking(sample_from_datasets({rows(3), range(12), damaged_source(2, -1)}, options));
    }
  }
  const Dataset far =
      sample_from_datasets({damaged_indexed_source(500'000, -1), damaged_indexed_source(600'000, -1)}, {.seed = 1});
  auto iterator = far.make_iterator();
  const std::int64_t before = elements_read();
  EXPECT_EQ(iterator->skip(2'000'000), 1'100'000u);
  EXPECT_EQ(elements_read(), before);
}

TEST(SampleFromDatasets, RefusesWrongArguments) {
  EXPECT_THAT([] { sample_from_datasets({}); }, ThrowsMessage<Error>(HasSubstr("at least one dataset is expected")));
  EXPECT_THAT(
      [] {
        sample_from_datasets({range(1), range(1)}, {.weights = {1}});
      },
      ThrowsMessage<Error>(HasSubstr("Received: datasets=2, weights=1")));
  EXPECT_THROW(sample_from_datasets({range(1), range(1)}, {.weights = {1, -1}}), Error);
  EXPECT_THAT(
      [] {
        sample_from_datasets({range(1), range(1).enumerate()});
      },
      ThrowsMessage<Error>(HasSubstr("Received: first=int64(), other=(int64(), int64())")));
  EXPECT_EQ(to_string(sample_from_datasets(
                          {range(4).batch(2, {.drop_remainder = true}), range(4).batch(3, {.drop_remainder = true})})
                          .element_spec()),
            "int64(None,)");
}

const PositionsCase kSampleCases[] = {
    {"of_two",
     [] {
       return sample_from_datasets({range(9), range(100, 105)}, {.seed = 1});
     }},
    {"until_one_ends",
     [] {
       return sample_from_datasets({range(9), range(100, 105)}, {.seed = 1, .stop_on_empty_dataset = true});
     }},
    {"anew",
     [] {
       return sample_from_datasets({rows(9).shuffle(3, {.seed = 1}), range(100, 105), damaged_source(3, -1)},
                                   {.weights = {1, 2, 0.5}, .seed = 1, .rerandomize_each_iteration = true});
     }},
    {"endless",
     [] {
       return sample_from_datasets({range(9).repeat(), range(100, 105)}, {.seed = 7});
     }},
};
INSTANTIATE_TEST_SUITE_P(SampleFromDatasets, Positions, testing::ValuesIn(kSampleCases), name_of_case);

}  // namespace
}  // namespace cohort::datasets::test
