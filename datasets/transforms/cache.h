#pragma once

#include <string>

#include "cohort/data/dataset.h"

namespace cohort::datasets {

// Dataset::cache, to apply: keeps the elements of the first pass in memory for the later ones.
DatasetTransform cache();
// The same in a file, which outlives the process: the first whole pass writes it, later ones map it. Meanwhile others
// who read the dataset read their own input. A pass of which an element fails, or that begins elsewhere than at the
// first element, is not kept. A file of another dataset is refused; values of large constants and seeds do not count.
//   file: its path; empty: in memory.
DatasetTransform cache(const std::string& file);

}  // namespace cohort::datasets
