#pragma once

#include "cohort/data/dataset.h"

namespace cohort::datasets {

// Dataset::rebatch, to apply: the rows of the elements, whatever their number in each, in batches of one size.
//   batch_size: rows of a batch; the last one may be smaller.
DatasetTransform rebatch(std::int64_t batch_size, BatchOptions options = {});

}  // namespace cohort::datasets
