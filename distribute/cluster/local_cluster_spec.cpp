#include "cohort/distribute/cluster/local_cluster_spec.h"

#include "cohort/distribute/cluster/free_ports.h"

namespace cohort::distribute {

ClusterSpec local_cluster_spec(const std::vector<std::pair<std::string, int>>& jobs) {
  std::size_t tasks = 0;
  for (const auto& [job, count] : jobs) tasks += static_cast<std::size_t>(count);
  std::vector<int> ports = free_ports(tasks);
  std::map<std::string, std::vector<std::string>> addresses;
  for (const auto& [job, count] : jobs) {
    for (int i = 0; i < count; ++i) {
      addresses[job].push_back("127.0.0.1:" + std::to_string(ports.back()));
      ports.pop_back();
    }
  }
  return ClusterSpec(std::move(addresses));
}

}  // namespace cohort::distribute
