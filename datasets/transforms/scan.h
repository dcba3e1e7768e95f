#pragma once

#include <functional>
#include <utility>

#include "cohort/data/dataset.h"

namespace cohort::datasets {

// Dataset::scan, to apply: like map, with a state that goes from element to element and begins anew with every pass. An
// element that fails leaves the state as it was. The state is part of saved positions.
//   initial_state: tensors with values.
//   f: traced: it may use neither variables that are trained nor iterators; gives a state of the structure and types of
//     the initial one.
DatasetTransform scan(Element initial_state, ScanFunction f);

}  // namespace cohort::datasets
