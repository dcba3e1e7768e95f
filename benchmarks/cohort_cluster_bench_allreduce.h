#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace cohort::bench {

// A program that calls allreduce_bench() is started by it once more for each rank: what main() must return for such
// arguments, nothing for any others.
std::optional<int> run_allreduce_bench_process(const std::vector<std::string>& arguments);

// Measures the all-reduce of float32 between so many processes of this machine as the peers' allreduce_gloo.py does,
// and prints its keys: one line of JSON for each size. The transport is "auto", "shm" or "grpc". Returns an exit
// status.
//   bytes: of the one size to measure, a multiple of 4; 0: the peers' sizes.
int allreduce_bench(int workers, const std::string& transport, std::int64_t bytes);

}  // namespace cohort::bench
