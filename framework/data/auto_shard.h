#pragma once

#include <cstdint>
#include <optional>

#include "cohort/data/dataset.h"
#include "cohort/data/distributed_input.h"

namespace cohort {

// The policy that a dataset carries (Dataset::with_options): of its last stages first; none where it carries none.
std::optional<AutoShardPolicy> auto_shard_policy_of(const Dataset& dataset);

// What AUTO becomes for a dataset: File with at least as many files as workers, where no stage counts elements (take,
// skip, zip, ...), else Data. Other policies stay as they are.
//   num_workers: at least 1.
AutoShardPolicy resolve_auto_shard(const Dataset& dataset, AutoShardPolicy policy, std::int64_t num_workers);

// Says in the log what AUTO became for a dataset that reads files; each sentence once in a process.
void say_auto_shard(const Dataset& dataset, AutoShardPolicy became, std::int64_t num_workers);

// The same dataset with every stage in order (deterministic): positions and shares that several iterators have in
// common mean nothing otherwise.
Dataset in_order(const Dataset& dataset);

// The share of one worker in a dataset. Shares of all workers together are its elements, each once; with Off every
// worker has all of them. What AUTO became is said in the log, by worker 0.
//   policy: File divides the files of its sources, Data its elements (batches, where it ends in batches): those of
//     others are passed by, not computed.
//   num_workers: at least 1.
//   index: which worker, in [0, num_workers).
Dataset shard_for(const Dataset& dataset, AutoShardPolicy policy, std::int64_t num_workers, std::int64_t index);

}  // namespace cohort
