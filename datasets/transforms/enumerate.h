#pragma once

#include "cohort/data/dataset.h"

namespace cohort::datasets {

// Dataset::enumerate, to apply: pairs (number, element), counted from 0 as int64.
DatasetTransform enumerate();

}  // namespace cohort::datasets
