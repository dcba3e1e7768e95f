#pragma once

#include "cohort/data/dataset.h"

namespace cohort::datasets {

// Dataset::take_while, to apply: the elements before the first one for which the function does not hold.
//   f: of the element or of its tensors, gives one bool; traced: it may use neither variables that are trained nor
//     iterators.
DatasetTransform take_while(ElementFunction f);

}  // namespace cohort::datasets
