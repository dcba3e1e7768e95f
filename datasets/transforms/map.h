#pragma once

#include "cohort/data/dataset.h"

namespace cohort::datasets {

// Dataset::map, to apply: the function's results for the elements.
//   f: of the element or of its tensors; traced, so that it may use neither variables nor iterators.
DatasetTransform map(ElementFunction f, MapOptions options = {});

}  // namespace cohort::datasets
