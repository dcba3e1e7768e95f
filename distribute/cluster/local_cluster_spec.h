#pragma once

#include <string>
#include <utility>
#include <vector>

#include "cohort/distribute/cluster/cluster_spec.h"

namespace cohort::distribute {

// A cluster on this machine: loopback addresses whose ports are free now.
//   jobs: job names and numbers of tasks, {{"worker", 3}, {"ps", 2}}.
ClusterSpec local_cluster_spec(const std::vector<std::pair<std::string, int>>& jobs);

}  // namespace cohort::distribute
