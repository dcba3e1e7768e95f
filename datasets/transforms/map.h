#pragma once

#include "cohort/data/dataset.h"
#include "cohort/data/host_function.h"

namespace cohort::datasets {

// Dataset::map, to apply: the function's results for the elements.
//   f: of the element or of its tensors; traced: it may use neither variables that are trained nor
//     iterators.
DatasetTransform map(ElementFunction f, MapOptions options = {});
// The results of a registered C++ function for the elements, computed like those of a traced one.
//   f: of an element's tensors: HostFunction::registered("name", result_spec).
DatasetTransform map(HostFunction f, MapOptions options = {});

}  // namespace cohort::datasets
