#pragma once

#include "cohort/data/dataset.h"

namespace cohort::datasets {

// Dataset::shuffle, to apply: the elements in random order, each drawn from a buffer of the next ones. Without a seed
// every dataset it is applied to gets one of its own.
//   buffer_size: elements in the buffer, at least 1; the number of elements for a full shuffle.
DatasetTransform shuffle(std::int64_t buffer_size, ShuffleOptions options = {});

}  // namespace cohort::datasets
