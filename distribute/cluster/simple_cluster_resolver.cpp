#include "cohort/distribute/cluster/simple_cluster_resolver.h"

#include <utility>

#include "cohort/distribute/cluster/roles.h"

namespace cohort::distribute {

SimpleClusterResolver::SimpleClusterResolver(ClusterSpec cluster_spec, SimpleClusterResolverOptions options)
    : spec_(std::move(cluster_spec)), options_(std::move(options)) {
  check_task(spec_, options_.task_type, options_.task_id, "SimpleClusterResolver");
}

ClusterSpec SimpleClusterResolver::cluster_spec() const { return spec_; }
std::string SimpleClusterResolver::task_type() const { return options_.task_type; }
std::int64_t SimpleClusterResolver::task_id() const { return options_.task_id; }
std::string SimpleClusterResolver::rpc_layer() const { return options_.rpc_layer; }
std::string SimpleClusterResolver::environment() const { return options_.environment; }

std::string SimpleClusterResolver::master(std::string task_type, std::int64_t task_id) const {
  if (task_type.empty() && !options_.master.empty()) return options_.master;
  return ClusterResolver::master(std::move(task_type), task_id);
}

}  // namespace cohort::distribute
