#pragma once

#include <cstdint>
#include <vector>

#include "cohort/data/dataset.h"
#include "cohort/model/fit/strategy.h"

namespace cohort::distribute {

// What one of several workers in step reads.
struct WorkerShare {
  Dataset dataset = {};
  // Its elements are global batches, of which the worker takes its rows; else they are the worker's own.
  bool whole_batches = false;
  // Rows of a global batch, and of them those of each worker, where the data says so; else negative, and nothing.
  std::int64_t batch_size = -1;
  std::vector<std::int64_t> rows_of_workers = {};
  // Steps of one pass, which are the same for all workers; negative where each only knows of its own.
  std::int64_t steps = -1;
  // Rows of a global batch, and how many of the first steps of a pass have as many; all workers know that alike.
  std::int64_t full_rows = 0, full_steps = 0;
  // Its positions are those of one machine, whatever the number of workers.
  bool any_number_of_workers = false;
};

// The share of worker `worker` of `workers` in global batches, or in what a DatasetCreator makes for it.
WorkerShare share_of_worker(const RunnerData& data, std::int64_t workers, std::int64_t worker,
                            std::int64_t replicas_per_worker);

}  // namespace cohort::distribute
