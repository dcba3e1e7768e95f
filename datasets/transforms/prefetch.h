#pragma once

#include "cohort/data/dataset.h"

namespace cohort::datasets {

// Dataset::prefetch, to apply: computes elements ahead of time, on a thread of its own.
//   buffer_size: elements kept ready; kAutotune: the framework chooses.
DatasetTransform prefetch(std::int64_t buffer_size);

}  // namespace cohort::datasets
