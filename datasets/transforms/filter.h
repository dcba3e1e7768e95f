#pragma once

#include "cohort/data/dataset.h"

namespace cohort::datasets {

// Dataset::filter, to apply: the elements for which the function holds.
//   f: of the element or of its tensors, gives one bool; traced: it may use neither variables that are trained nor
//     iterators.
DatasetTransform filter(ElementFunction f);

}  // namespace cohort::datasets
