#pragma once

#include "cohort/data/dataset.h"

namespace cohort::datasets {

// Dataset::repeat, to apply: the elements again and again.
//   count: how often; -1: without end.
DatasetTransform repeat(std::int64_t count = -1);

}  // namespace cohort::datasets
