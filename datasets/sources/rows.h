#pragma once

#include <memory>

#include "cohort/data/dataset.h"

namespace cohort::datasets {

// A stage whose elements are the rows of host tensors in memory, leaf by leaf.
// `who` names the source in errors. Throws unless every tensor has the same number of rows.
std::shared_ptr<const DatasetStage> rows_of(const char* who, const Element& element);

// Row `row` of all columns as one element, sharing their memory; one axis less.
void row_of(const Tensors& columns, std::int64_t row, Tensors& element);
// Rows [first, first + count) of all columns as one element, sharing their memory.
void rows_of(const Tensors& columns, std::int64_t first, std::int64_t count, Tensors& element);

}  // namespace cohort::datasets
