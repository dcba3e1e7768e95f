#pragma once

#include "cohort/data/dataset.h"

namespace cohort::datasets {

// Dataset::cache, to apply: keeps the elements of the first pass in memory for the later ones.
DatasetTransform cache();

}  // namespace cohort::datasets
