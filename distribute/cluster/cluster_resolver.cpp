#include "cohort/distribute/cluster/cluster_resolver.h"

namespace cohort::distribute {

std::string ClusterResolver::master(std::string task_type, std::int64_t task_id) const {
  const ClusterSpec spec = cluster_spec();
  if (spec.num_tasks() <= 1) return {};
  if (task_type.empty()) task_type = this->task_type();
  if (task_type.empty()) return {};
  if (task_id < 0) task_id = this->task_id();
  const std::string layer = rpc_layer();
  return (layer.empty() ? "" : layer + "://") + spec.task_address(task_type, task_id);
}

}  // namespace cohort::distribute
