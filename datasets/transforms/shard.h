#pragma once

#include "cohort/data/dataset.h"

namespace cohort::datasets {

// Dataset::shard, to apply: every num_shards-th element, from number `index` on.
//   num_shards: parts the dataset is divided into.
//   index: which of them, in [0, num_shards).
DatasetTransform shard(std::int64_t num_shards, std::int64_t index);

}  // namespace cohort::datasets
