#pragma once

#include <optional>
#include <string>
#include <vector>

#include "benchmarks/cohort_cluster_bench_job.h"

namespace cohort::bench {

// A program that calls in_step_bench() is started by it once more for each worker: what main() must return for such
// arguments, nothing for any others.
std::optional<int> run_in_step_bench_process(const std::vector<std::string>& arguments);

// Trains a job on workers of this machine in step, each a process, all on the same global batches; one alone is the
// figure that they are to be measured by. The first one reports. Returns an exit status.
int in_step_bench(const ClusterBenchOptions& options);

}  // namespace cohort::bench
