#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace cohort::bench {

// Reads the files of a job of input pipelines, as the peers' script describes them, and prints one JSON line with the
// keys of the peers. Throws when the first epoch, which is not timed, does not give what the folder's expect.json says.
//   name: one of data_job_names().
//   folder: where the peers' script has made the files.
//   runs: epochs that are timed; the best counts.
void run_data_job(const std::string& name, const std::string& folder, std::int64_t runs);
std::vector<std::string> data_job_names();

}  // namespace cohort::bench
