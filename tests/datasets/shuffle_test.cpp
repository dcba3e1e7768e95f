#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "cohort/core/random.h"
#include "tests/datasets/damaged_source.h"
#include "tests/datasets/positions.h"

namespace cohort::datasets::test {
namespace {

TEST(Shuffle, GivesEveryElementOnceInAnotherOrderEachEpoch) {
  std::vector<std::int64_t> sorted(100);
  std::iota(sorted.begin(), sorted.end(), 0);
  for (const Dataset& source : rows_and_range(100)) {
    for (std::int64_t buffer : {2, 10, 100, 1000000}) {
      auto iterator = source.shuffle(buffer, {.seed = 1}).make_iterator();
      std::vector<std::int64_t> first = numbers(*iterator);
      iterator->rewind();
      std::vector<std::int64_t> second = numbers(*iterator);
      EXPECT_NE(first, second);
      EXPECT_NE(first, sorted);
      EXPECT_TRUE(std::ranges::is_permutation(first, sorted));
      EXPECT_TRUE(std::ranges::is_permutation(second, sorted));
      for (std::size_t i = 0; i < first.size(); ++i) EXPECT_LT(first[i], static_cast<std::int64_t>(i) + buffer);
    }
  }
}

TEST(Shuffle, FollowsItsSeedAlone) {
  const auto order = [](std::int64_t seed, const Dataset& source) {
    return numbers(source.shuffle(50, {.seed = seed}));
  };
  EXPECT_EQ(order(1, rows(50)), order(1, rows(50)));
  EXPECT_EQ(order(1, rows(50)), order(1, range(50))) << "row numbers and elements are drawn alike";
  EXPECT_NE(order(1, rows(50)), order(2, rows(50)));
  set_random_seed(7);
  const auto first = numbers(rows(50).shuffle(50));
  const auto second = numbers(rows(50).shuffle(50));
  set_random_seed(7);
  EXPECT_EQ(numbers(rows(50).shuffle(50)), first);
  EXPECT_EQ(numbers(rows(50).shuffle(50)), second);
  EXPECT_NE(first, second);
}

TEST(Shuffle, ANewIteratorReshufflesUnlessToldNotTo) {
  const Dataset again = rows(50).shuffle(50, {.seed = 1});
  EXPECT_NE(numbers(again), numbers(again));
  const Dataset once = rows(50).shuffle(50, {.seed = 1, .reshuffle_each_iteration = false});
  EXPECT_EQ(numbers(once), numbers(once));
  const auto twice = numbers(once.repeat(2));
  EXPECT_TRUE(std::equal(twice.begin(), twice.begin() + 50, twice.begin() + 50));
}

TEST(Shuffle, IsFair) {
  // Each of 4 elements comes first in about a quarter of 4000 epochs: 5 standard deviations are 137.
  auto iterator = rows(4).shuffle(4, {.seed = 3}).make_iterator();
  std::array<int, 4> first{};
  for (int epoch = 0; epoch < 4000; ++epoch) {
    ++first[static_cast<std::size_t>(numbers(*iterator)[0])];
    iterator->rewind();
  }
  for (int count : first) EXPECT_NEAR(count, 1000, 137);
}

TEST(Shuffle, RefusesAnEmptyBuffer) { EXPECT_THROW(range(3).shuffle(0), Error); }

TEST(Shuffle, GivesEveryOtherElementOnceWhenSomeAreDamaged) {
  constexpr std::int64_t kCount = 50, kPeriod = 7;
  const Dataset damaged = damaged_source(kCount, kPeriod);
  for (const std::int64_t buffer : {1, 10, 1000}) {
    auto iterator = damaged.shuffle(buffer, {.seed = 1}).make_iterator();
    std::multiset<std::int64_t> seen, expected;
    for (std::int64_t i = 0; i < kCount; ++i) {
      if (i % kPeriod != 0) expected.insert(i);
    }
    int errors = 0;
    Tensors element;
    for (bool more = true; more;) {
      try {
        more = iterator->next(element);
        if (more) seen.insert(element.at(0).item<std::int64_t>());
      } catch (const Error&) {
        ++errors;
      }
    }
    EXPECT_EQ(seen, expected) << "buffer of " << buffer;
    EXPECT_EQ(errors, 8);
  }
}

TEST(Shuffle, GoesOnToALaterPositionWithoutReadingAgain) {
  const Dataset counted = damaged_source(1000, -1);
  const Dataset shuffled = counted.shuffle(10, {.seed = 5});
  const auto first = shuffled.make_iterator(), second = shuffled.make_iterator();
  Tensors element;
  second->restore(first->save());
  for (int i = 0; i < 500; ++i) second->next(element);
  for (int i = 0; i < 600; ++i) first->next(element);
  const std::int64_t before = elements_read();
  second->restore(first->save());
  EXPECT_EQ(elements_read() - before, 100);
  EXPECT_EQ(numbers(*second), numbers(*first));
}

const PositionsCase kShuffleCases[] = {
    {"rows", [] { return rows(13).shuffle(13, {.seed = 5}); }},
    {"some_rows", [] { return rows(13).shuffle(4, {.seed = 5}); }},
    {"elements", [] { return range(13).shuffle(4, {.seed = 5}); }},
    {"once", [] { return range(13).shuffle(4, {.seed = 5, .reshuffle_each_iteration = false}); }},
    {"repeated", [] { return rows(5).repeat(3).shuffle(4, {.seed = 5}); }},
};
INSTANTIATE_TEST_SUITE_P(Shuffle, Positions, testing::ValuesIn(kShuffleCases), name_of_case);

}  // namespace
}  // namespace cohort::datasets::test
