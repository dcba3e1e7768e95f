#pragma once

#include "cohort/data/dataset.h"

namespace cohort::datasets {

// Dataset::window, to apply: windows over consecutive elements, stacked along a new axis 0. Elements that several
// windows share are computed once.
//   size: elements of a window; the last ones may be smaller.
DatasetTransform window(std::int64_t size, WindowOptions options = {});

}  // namespace cohort::datasets
