#include "cohort/distribute/strategies/worker_share.h"

#include <limits>
#include <optional>

#include "cohort/data/auto_shard.h"
#include "cohort/data/replica_batches.h"
#include "cohort/distribute/collective/batch_rows.h"

namespace cohort::distribute {
namespace {

// Notes which global batches are full, where a dataset of them tells.
WorkerShare with_full_steps(WorkerShare share, const Dataset& batches) {
  std::int64_t batch_size = share.batch_size, short_ones = 1;  // the last
  for (const TensorSpec& leaf : batches.element_spec().flatten()) {
    if (leaf.shape.rank() == 0) continue;
    if (leaf.shape[0] != kUnknown) batch_size = leaf.shape[0], short_ones = 0;
    break;
  }
  const std::int64_t steps = batches.cardinality();
  if (batch_size < 0 || steps == kUnknownCardinality) return share;
  share.full_rows = batch_size;
  share.full_steps = steps == kInfiniteCardinality ? std::numeric_limits<std::int64_t>::max() : steps - short_ones;
  return share;
}

}  // namespace

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
    return with_full_steps({.dataset = dataset.rebatch(rows).shard(workers, worker),
                            .batch_size = *batch,
                            .rows_of_workers = rows,
                            .steps = dataset.cardinality(),
                            .any_number_of_workers = true},
                           dataset);
  }
  return with_full_steps({.dataset = dataset,
                          .whole_batches = true,
                          .batch_size = batch.value_or(-1),
                          .steps = dataset.cardinality(),
                          .any_number_of_workers = true},
                         dataset);
}

}  // namespace cohort::distribute
