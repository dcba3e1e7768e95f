#pragma once

#include <cstdint>
#include <string>

#include "cohort/distribute/cluster/cluster_resolver.h"

namespace cohort::distribute {

// What a SimpleClusterResolver says besides the cluster.
struct SimpleClusterResolverOptions {
  // What master() says; empty: the address of this process's task.
  std::string master = {};
  // The job of this process's task; empty: unknown.
  std::string task_type = {};
  // The number of this process's task within its job.
  std::int64_t task_id = 0;
  // What environment() says.
  std::string environment = {};
  // The protocol in front of addresses.
  std::string rpc_layer = "grpc";
};

// Says what it was told; a task that is not in the cluster is refused.
class SimpleClusterResolver : public ClusterResolver {
 public:
  // Of this cluster.
  explicit SimpleClusterResolver(ClusterSpec cluster_spec, SimpleClusterResolverOptions options = {});
  ClusterSpec cluster_spec() const override;
  std::string task_type() const override;
  std::int64_t task_id() const override;
  std::string master(std::string task_type = {}, std::int64_t task_id = -1) const override;
  std::string rpc_layer() const override;
  std::string environment() const override;

 private:
  ClusterSpec spec_;
  SimpleClusterResolverOptions options_;
};

}  // namespace cohort::distribute
