#pragma once

#include <memory>

#include "cohort/data/dataset.h"

namespace cohort::datasets {

// What rows are known by: row i is element first + i * step of what they were taken from.
struct RowNumbers {
  std::uint64_t first = 0;
  std::uint64_t step = 1;
};

// A stage whose elements are the rows of host tensors in memory, leaf by leaf. Throws unless every tensor has the same
// number of rows.
//   who: names the source in errors.
//   numbers: what the rows are known by.
std::shared_ptr<const DatasetStage> rows_of(const char* who, const Element& element, RowNumbers numbers = {});

// Row `row` of all columns as one element, sharing their memory; one axis less.
void row_of(const Tensors& columns, std::int64_t row, Tensors& element);
// Rows [first, first + count) of all columns as one element, sharing their memory.
void rows_of(const Tensors& columns, std::int64_t first, std::int64_t count, Tensors& element);

}  // namespace cohort::datasets
