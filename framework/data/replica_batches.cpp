#include "cohort/data/replica_batches.h"

#include <algorithm>

#include "cohort/core/error.h"

namespace cohort {

std::vector<std::int64_t> replica_batch_sizes(std::int64_t global_batch_size, std::int64_t num_workers,
                                              std::int64_t replicas_per_worker, std::int64_t worker) {
  constexpr std::int64_t kMostReplicas = std::int64_t{1} << 20;
  if (global_batch_size < 1 || num_workers < 1 || replicas_per_worker < 1 || worker < 0 || worker >= num_workers ||
      num_workers > kMostReplicas / replicas_per_worker) {
    throw invalid_argument("replica_batch_sizes",
                           "a batch of at least one row, at least one worker and replica (2^20 at most) and a worker "
                           "in [0, num_workers) are expected",
                           {{"global_batch_size", global_batch_size},
                            {"num_workers", num_workers},
                            {"replicas_per_worker", replicas_per_worker},
                            {"worker", worker}});
  }
  const std::int64_t replicas = num_workers * replicas_per_worker;
  std::vector<std::int64_t> sizes(static_cast<std::size_t>(replicas), global_batch_size / replicas);
  for (std::int64_t i = 0; i < global_batch_size % replicas; ++i) ++sizes[static_cast<std::size_t>(i)];
  std::rotate(sizes.begin(), sizes.begin() + worker * replicas_per_worker, sizes.end());
  return sizes;
}

}  // namespace cohort
