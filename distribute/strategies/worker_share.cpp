#include "cohort/distribute/strategies/worker_share.h"

#include <optional>

#include "cohort/data/auto_shard.h"
#include "cohort/data/replica_batches.h"
#include "cohort/distribute/collective/batch_rows.h"

namespace cohort::distribute {

WorkerShare share_of_worker(const RunnerData& data, std::int64_t workers, std::int64_t worker,
                            std::int64_t replicas_per_worker) {
  if (data.creator) {
    return {.dataset = (*data.creator)({.num_input_pipelines = workers,
                                        .input_pipeline_id = worker,
                                        .num_replicas_in_sync = workers * replicas_per_worker})};
  }
  const Dataset dataset = in_order(data.dataset);
  const AutoShardPolicy asked = auto_shard_policy_of(dataset).value_or(AutoShardPolicy::Auto);
  const AutoShardPolicy policy = resolve_auto_shard(dataset, asked, workers);
  const std::optional<std::int64_t> batch = batch_size_of(dataset);
  if (policy == AutoShardPolicy::Off) return {.dataset = dataset};
  if (policy == AutoShardPolicy::File && batch) {
    const Dataset own = shard_for(dataset, policy, workers, worker);
    return {.dataset = own.rebatch(rows_of_replica(*batch, workers, worker)), .batch_size = *batch};
  }
  // Sub-batches of others are passed by; where batches may be cut short in the middle, that would shift rows from one
  // global batch to the next.
  if (batch && *batch >= workers) {
    const std::vector<std::int64_t> rows = replica_batch_sizes(*batch, 1, workers, 0);
    return {.dataset = dataset.rebatch(rows).shard(workers, worker),
            .batch_size = *batch,
            .rows_of_workers = rows,
            .steps = dataset.cardinality(),
            .any_number_of_workers = true};
  }
  return {.dataset = dataset,
          .whole_batches = true,
          .batch_size = batch.value_or(-1),
          .steps = dataset.cardinality(),
          .any_number_of_workers = true};
}

}  // namespace cohort::distribute
