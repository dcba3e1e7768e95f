#pragma once

#include <memory>

#include "cohort/data/dataset.h"

namespace cohort::datasets {

// A stage whose elements are the rows of host tensors in memory, leaf by leaf.
// `who` names the source in errors. Throws unless every tensor has the same number of rows.
std::shared_ptr<const DatasetStage> rows_of(const char* who, const Element& element);

// Row `row` of `column`, sharing its memory; one axis less.
Tensor row_of(const Tensor& column, std::int64_t row);
// The rows of all columns as one element.
void rows_of(const Tensors& columns, std::int64_t row, Tensors& element);

}  // namespace cohort::datasets
