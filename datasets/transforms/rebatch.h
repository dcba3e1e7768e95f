#pragma once

#include <cstdint>
#include <vector>

#include "cohort/data/dataset.h"

namespace cohort::datasets {

// Dataset::rebatch, to apply: the rows of the elements, whatever their number in each, in batches of one size.
//   batch_size: rows of a batch; the last one may be smaller.
DatasetTransform rebatch(std::int64_t batch_size, BatchOptions options = {});
// The same in batches of several sizes, which take turns: what replicas take of global batches.
//   batch_sizes: rows of each, 0 or more but not all 0; after the last one the first follows. Where the rows end no
//     empty batch follows.
DatasetTransform rebatch(std::vector<std::int64_t> batch_sizes, BatchOptions options = {});

}  // namespace cohort::datasets
