#include "cohort/distribute/local_cluster.h"

#include "cohort/distribute/cluster/local_cluster_spec.h"

namespace cohort::distribute {

LocalCluster::LocalCluster(const std::vector<std::pair<std::string, int>>& jobs, LocalClusterOptions options)
    : spec_(local_cluster_spec(jobs)) {
  for (const std::string& job : spec_.jobs()) {
    for (std::int64_t index : spec_.task_indices(job)) {
      // What they read is named by this process.
      servers_.push_back(std::make_unique<Server>(spec_, ServerOptions{.job_name = job,
                                                                       .task_index = index,
                                                                       .transport = options.transport,
                                                                       .threads = options.threads,
                                                                       .data_roots = {{"/"}},
                                                                       .devices = options.devices}));
    }
  }
}

}  // namespace cohort::distribute
