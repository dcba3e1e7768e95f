#include "cohort/distribute/local_cluster.h"

#include "cohort/distribute/cluster/local_cluster_spec.h"

namespace cohort::distribute {

LocalCluster::LocalCluster(const std::vector<std::pair<std::string, int>>& jobs, LocalClusterOptions options)
    : spec_(local_cluster_spec(jobs)) {
  for (const std::string& job : spec_.jobs()) {
    for (std::int64_t index : spec_.task_indices(job)) {
      ServerOptions own;
      own.job_name = job;
      own.task_index = index;
      own.transport = options.transport;
      own.threads = options.threads;
      own.data_roots = {{"/"}};  // what they read is named by this process
      own.devices = options.devices;
      servers_.push_back(std::make_unique<Server>(spec_, std::move(own)));
    }
  }
}

}  // namespace cohort::distribute
