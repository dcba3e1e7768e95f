#pragma once

#include "cohort/data/dataset.h"
#include "cohort/datasets/transforms/stacking.h"

namespace cohort::datasets {

// Dataset::padded_batch, to apply: batches of consecutive elements, padded at their ends to one shape and stacked along
// a new axis 0.
//   batch_size: elements of a batch; the last one may be smaller.
DatasetTransform padded_batch(std::int64_t batch_size, PaddedBatchOptions options = {});

}  // namespace cohort::datasets
