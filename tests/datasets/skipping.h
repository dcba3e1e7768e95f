#pragma once

#include <gtest/gtest.h>

#include "tests/datasets/elements.h"

namespace cohort::datasets::test {

// What an iterator gives from here on: the values of its first leaf, and {INT64_MIN} for each error.
inline std::vector<std::vector<std::int64_t>> rest_with_errors(DatasetIterator& iterator, std::size_t most = SIZE_MAX) {
  std::vector<std::vector<std::int64_t>> values;
  Tensors element;
  for (bool more = true; more && values.size() < most;) {
    try {
      more = iterator.next(element);
      if (more) values.push_back(element.at(0).to_vector<std::int64_t>());
    } catch (const Error&) {
      values.push_back({INT64_MIN});
    }
  }
  return values;
}

// Expects of a dataset that passing elements by, from wherever, is the same as walking over them, and that positions
// between elements, some of which may fail, are exact.
inline void expect_passing_by_equals_walking(const Dataset& dataset) {
  const auto first_walk = dataset.make_iterator();
  const std::string start = first_walk->save();
  const auto expected = rest_with_errors(*first_walk);
  for (std::size_t first = 0; first < 4; ++first) {
    for (std::size_t passed = 0; passed <= expected.size() + 2; ++passed) {
      auto iterator = dataset.make_iterator();
      iterator->restore(start);
      rest_with_errors(*iterator, first);
      const std::size_t from = std::min(first, expected.size());
      const std::size_t there = std::min(passed, expected.size() - from);
      ASSERT_EQ(iterator->skip(passed), there) << first << " " << passed;
      const auto left = std::vector(expected.begin() + static_cast<std::ptrdiff_t>(from + there), expected.end());
      auto restored = parse_dataset(serialize(dataset)).make_iterator();
      restored->restore(iterator->save());
      ASSERT_EQ(rest_with_errors(*iterator), left) << first << " " << passed;
      ASSERT_EQ(rest_with_errors(*restored), left) << first << " " << passed;
    }
  }
}

}  // namespace cohort::datasets::test
