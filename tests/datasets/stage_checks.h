#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tests/datasets/elements.h"
#include "tests/support/allocations.h"

namespace cohort::datasets::test {

// What one call of next() came to: an element's leaves and what it is known by, or an error.
struct Outcome {
  bool failed = false;
  std::vector<std::vector<std::int64_t>> leaves;
  std::optional<ElementKey> key;
  friend bool operator==(const Outcome&, const Outcome&) = default;
};

// The next outcome; none at the end.
inline std::optional<Outcome> next_outcome(DatasetIterator& iterator) {
  Tensors element;
  try {
    if (!iterator.next(element)) return std::nullopt;
  } catch (const Error&) {
    return Outcome{.failed = true, .leaves = {}, .key = {}};
  }
  Outcome outcome;
  for (const Tensor& leaf : element) outcome.leaves.push_back(leaf.to_vector<std::int64_t>());
  outcome.key = iterator.key();
  return outcome;
}

// All that are left.
inline std::vector<Outcome> outcomes(DatasetIterator& iterator) {
  std::vector<Outcome> all;
  while (const std::optional<Outcome> outcome = next_outcome(iterator)) all.push_back(*outcome);
  return all;
}

// The first leaf's only number of each, -1 for an error.
inline std::vector<std::int64_t> numbers_or_errors(DatasetIterator& iterator) {
  std::vector<std::int64_t> numbers;
  for (const Outcome& outcome : outcomes(iterator)) numbers.push_back(outcome.failed ? -1 : outcome.leaves[0].at(0));
  return numbers;
}

// Passing elements by leaves those that walking past them would, and says how many there were.
inline void expect_skip_equals_walking(const Dataset& dataset) {
  const auto walked = dataset.make_iterator();
  const std::string start = walked->save();
  const auto expected = outcomes(*walked);
  const std::size_t count = expected.size();
  for (std::size_t first = 0; first < 4; ++first) {
    for (std::size_t passed = 0; passed <= count + 2; ++passed) {
      const auto iterator = dataset.make_iterator();
      iterator->restore(start);
      for (std::size_t i = 0; i < first; ++i) next_outcome(*iterator);
      const std::size_t before = std::min(first, count), at = std::min(count, before + passed);
      ASSERT_EQ(iterator->skip(passed), at - before) << first << " " << passed;
      ASSERT_TRUE(outcomes(*iterator) ==
                  std::vector(expected.begin() + static_cast<std::ptrdiff_t>(at), expected.end()))
          << first << " " << passed;
      EXPECT_EQ(iterator->skip(1), 0u) << "at the end";
    }
  }
}

// Restored behind every element or error of two epochs, at the end too, it goes on as it went on.
inline void expect_restores_anywhere(const Dataset& dataset) {
  const auto walked = dataset.make_iterator();
  for (int epoch = 0; epoch < 2; ++epoch, walked->rewind()) {
    std::vector<std::string> states{walked->save()};
    std::vector<Outcome> expected;
    while (const std::optional<Outcome> outcome = next_outcome(*walked)) {
      expected.push_back(*outcome);
      states.push_back(walked->save());
    }
    states.push_back(walked->save());
    for (std::size_t i = 0; i < states.size(); ++i) {
      const auto other = parse_dataset(serialize(dataset)).make_iterator();
      other->restore(states[i]);
      EXPECT_EQ(other->save(), states[i]) << i;
      const auto from = static_cast<std::ptrdiff_t>(std::min(i, expected.size()));
      ASSERT_TRUE(outcomes(*other) == std::vector(expected.begin() + from, expected.end())) << epoch << " " << i;
    }
  }
}

// After epochs that have had their memory, later ones ask for none; elements that somebody keeps stay as they were.
//   first: epochs until all memory has gone round.
inline void expect_a_steady_state(const Dataset& dataset, int first = 1) {
  const auto iterator = dataset.make_iterator();
  Tensors element;
  const auto walk = [&] {
    std::size_t count = 0;
    for (; iterator->next(element); ++count) {
    }
    iterator->rewind();
    return count;
  };
  for (int epoch = 0; epoch < first; ++epoch) ASSERT_GT(walk(), 3u);
  const std::uint64_t before = cohort::test::allocations();
  for (int epoch = 0; epoch < 10; ++epoch) walk();
  if (cohort::test::allocations_are_counted()) {
    EXPECT_EQ(cohort::test::allocations() - before, 0u);
  }

  std::vector<Tensors> kept;
  std::vector<std::vector<double>> values;
  while (iterator->next(element)) {
    kept.push_back(element);
    values.push_back(element[0].to_vector<double>());
  }
  for (std::size_t i = 0; i < kept.size(); ++i) EXPECT_EQ(kept[i][0].to_vector<double>(), values[i]) << i;
}

// Rows of the given width, all different, beside a column of ones.
inline Dataset wide_rows(std::int64_t count, std::int64_t width = 5) {
  std::vector<float> values(static_cast<std::size_t>(count * width));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  return from_tensor_slices(Tensor::of(values, {count, width}), Tensor::full({count, 1}, 1));
}

}  // namespace cohort::datasets::test
