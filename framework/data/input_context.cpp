#include "cohort/data/input_context.h"

#include "cohort/core/error.h"

namespace cohort {

std::int64_t InputContext::get_per_replica_batch_size(std::int64_t global_batch_size) const {
  if (global_batch_size <= 0 || num_replicas_in_sync <= 0 || global_batch_size % num_replicas_in_sync != 0) {
    throw invalid_argument("InputContext.get_per_replica_batch_size",
                           "the global batch must be positive and divide evenly among the replicas",
                           {{"global_batch_size", global_batch_size}, {"num_replicas_in_sync", num_replicas_in_sync}},
                           "Choose a batch size that is a multiple of the number of replicas.");
  }
  return global_batch_size / num_replicas_in_sync;
}

}  // namespace cohort
