#pragma once

#include "cohort/data/dataset.h"

namespace cohort::datasets {

// Dataset::concatenate, to apply: the elements, then those of another dataset.
//   other: its elements have the same structure, types and numbers of axes.
DatasetTransform concatenate(Dataset other);

}  // namespace cohort::datasets
