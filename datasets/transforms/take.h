#pragma once

#include "cohort/data/dataset.h"

namespace cohort::datasets {

// Dataset::take, to apply: the first elements alone.
//   count: how many; -1: all.
DatasetTransform take(std::int64_t count);

}  // namespace cohort::datasets
