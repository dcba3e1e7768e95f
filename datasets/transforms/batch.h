#pragma once

#include "cohort/data/dataset.h"

namespace cohort::datasets {

// Dataset::batch, to apply: batches of consecutive elements, stacked along a new axis 0.
//   batch_size: elements of a batch; the last one may be smaller.
DatasetTransform batch(std::int64_t batch_size, BatchOptions options = {});

}  // namespace cohort::datasets
