#pragma once

#include <cstdint>
#include <string>

#include "cohort/distribute/cluster/cluster_resolver.h"

namespace cohort::distribute {

struct SimpleClusterResolverOptions {
  std::string master = {};
  std::string task_type = {};
  std::int64_t task_id = 0;
  std::string environment = {};
  std::string rpc_layer = "grpc";
};

// Says what it was told; a task that is not in the cluster is refused.
class SimpleClusterResolver : public ClusterResolver {
 public:
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
