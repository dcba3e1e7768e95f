#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cohort/files/data_root.h"

namespace cohort::distribute {

// How much a task takes on itself.
struct TaskLimits {
  std::string only_job = {};             // the only one it takes part in; empty: any
  int max_jobs = 16;                     // that it takes part in at once
  std::uint64_t memory_limit = 0;        // bytes of a job's variables; 0: what the machine has
  std::uint64_t total_memory_limit = 0;  // bytes of all jobs' variables; 0: what the machine has
  int threads = 0;                       // of the process's pool that a request may compute with; 0: all
  std::chrono::milliseconds orphan_timeout = std::chrono::minutes(10);  // a job goes so long after its chief; 0: never
  bool stay = false;                                                    // also when the last job has ended
  std::shared_ptr<const DataRoots> data_roots = nullptr;  // where chains of a chief may read files; nullptr: everywhere
  std::vector<std::string> devices = {};  // that a worker computes on, in step; none: all GPUs, or the default device
};

}  // namespace cohort::distribute
