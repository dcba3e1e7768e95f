#pragma once

#include "cohort/data/dataset.h"

namespace cohort::datasets {

// Dataset::skip, to apply: the elements without the first ones.
//   count: how many are left out; -1: all.
DatasetTransform skip(std::int64_t count);

}  // namespace cohort::datasets
