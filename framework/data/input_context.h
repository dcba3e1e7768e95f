#pragma once

#include <cstdint>

namespace cohort {

// Which of how many input pipelines a dataset is made for, and for how many replicas in step.
struct InputContext {
  // Pipelines in all.
  std::int64_t num_input_pipelines = 1;
  // Which of them this is, counted from 0.
  std::int64_t input_pipeline_id = 0;
  // Replicas whose gradients meet in one update.
  std::int64_t num_replicas_in_sync = 1;

  // The share of one replica in a global batch; throws when it does not divide evenly.
  std::int64_t get_per_replica_batch_size(std::int64_t global_batch_size) const;
};

}  // namespace cohort
