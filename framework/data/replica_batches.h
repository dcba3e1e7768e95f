#pragma once

#include <cstdint>
#include <vector>

namespace cohort {

// The sizes of the batches that one worker's replicas take in turn, for datasets::rebatch: of each global batch all
// replicas of all workers together take every row. Sizes differ by at most one, and what is left over goes to another
// replica in every step.
//   global_batch_size: rows of a global batch, at least 1.
//   num_workers: at least 1.
//   replicas_per_worker: at least 1.
//   worker: which one, in [0, num_workers).
std::vector<std::int64_t> replica_batch_sizes(std::int64_t global_batch_size, std::int64_t num_workers,
                                              std::int64_t replicas_per_worker, std::int64_t worker);

}  // namespace cohort
