#pragma once

#include "cohort/data/dataset.h"
#include "cohort/data/distributed_input.h"

namespace cohort::datasets {

// Dataset::with_options, to apply: the same elements, with options that travel with the dataset.
//   options: those that are set; later stages' come first.
DatasetTransform with_options(DatasetOptions options);

}  // namespace cohort::datasets
