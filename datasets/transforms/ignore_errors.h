#pragma once

#include "cohort/data/dataset.h"

namespace cohort::datasets {

// Dataset::ignore_errors, to apply: the elements that can be computed; others are left out and counted. A source that
// cannot go on is still an error.
DatasetTransform ignore_errors(IgnoreErrorsOptions options = {});

// How many elements an iterator has left out since it was made, whichever thread asks; throws for one whose last stage
// is not ignore_errors.
std::uint64_t ignored_errors(const DatasetIterator& iterator);

}  // namespace cohort::datasets
