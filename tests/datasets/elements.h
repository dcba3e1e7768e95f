#pragma once

#include <cstdint>
#include <vector>

#include "cohort/datasets/datasets.h"

namespace cohort::datasets::test {

// The values of leaf `leaf` of every element left, element by element.
inline std::vector<std::vector<std::int64_t>> rest(DatasetIterator& iterator, std::size_t leaf = 0,
                                                   std::size_t most = SIZE_MAX) {
  std::vector<std::vector<std::int64_t>> values;
  Tensors element;
  while (values.size() < most && iterator.next(element)) values.push_back(element.at(leaf).to_vector<std::int64_t>());
  return values;
}

inline std::vector<std::vector<std::int64_t>> all(const Dataset& dataset, std::size_t leaf = 0) {
  return rest(*dataset.make_iterator(), leaf);
}

// For datasets of scalars.
inline std::vector<std::int64_t> numbers(DatasetIterator& iterator, std::size_t most = SIZE_MAX) {
  std::vector<std::int64_t> result;
  for (const auto& value : rest(iterator, 0, most)) result.push_back(value.at(0));
  return result;
}
inline std::vector<std::int64_t> numbers(const Dataset& dataset) { return numbers(*dataset.make_iterator()); }

// 0, 1, ... as int64 rows in memory: the same elements as range(count), by row number.
inline Dataset rows(std::int64_t count) {
  std::vector<std::int64_t> values(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) values[static_cast<std::size_t>(i)] = i;
  return from_tensor_slices(Tensor::of(values, {count}));
}

// The same elements by row number and whole: two ways through the transforms.
inline std::vector<Dataset> rows_and_range(std::int64_t count) { return {rows(count), range(count)}; }

}  // namespace cohort::datasets::test
