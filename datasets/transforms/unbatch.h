#pragma once

#include "cohort/data/dataset.h"

namespace cohort::datasets {

// Dataset::unbatch, to apply: the rows of the elements, one after the other, as elements.
DatasetTransform unbatch();

}  // namespace cohort::datasets
