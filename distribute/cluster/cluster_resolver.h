#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cohort/distribute/cluster/cluster_spec.h"

namespace cohort::distribute {

// Finds out who is in the cluster and which of its tasks this process is.
class ClusterResolver {
 public:
  virtual ~ClusterResolver() = default;
  virtual ClusterSpec cluster_spec() const = 0;
  // "chief", "worker", "ps", "evaluator"; empty when unknown.
  virtual std::string task_type() const = 0;
  virtual std::int64_t task_id() const = 0;
  // "grpc://host:port" of the given task, by default the master's; empty for a cluster of one.
  virtual std::string master(std::string task_type = {}, std::int64_t task_id = -1) const;
  virtual std::string rpc_layer() const { return "grpc"; }
  virtual std::string environment() const { return {}; }
};

struct SimpleClusterResolverOptions {
  std::string master = {};
  std::string task_type = {};
  std::int64_t task_id = 0;
  std::string environment = {};
  std::string rpc_layer = "grpc";
};

// Says what it was told.
class SimpleClusterResolver : public ClusterResolver {
 public:
  explicit SimpleClusterResolver(ClusterSpec cluster_spec, SimpleClusterResolverOptions options = {});
  ClusterSpec cluster_spec() const override;
  std::string task_type() const override;
  std::int64_t task_id() const override;

 private:
  ClusterSpec spec_;
  SimpleClusterResolverOptions options_;
};

struct TFConfigClusterResolverOptions {
  std::optional<std::string> task_type = std::nullopt;
  std::optional<std::int64_t> task_id = std::nullopt;
  std::optional<std::string> rpc_layer = std::nullopt;
  std::optional<std::string> environment = std::nullopt;
};

// Reads the environment variable TF_CONFIG: {"cluster": {job: [address]}, "task": {"type", "index"}}.
class TFConfigClusterResolver : public ClusterResolver {
 public:
  explicit TFConfigClusterResolver(TFConfigClusterResolverOptions options = {});
  ClusterSpec cluster_spec() const override;
  std::string task_type() const override;
  std::int64_t task_id() const override;

 private:
  TFConfigClusterResolverOptions options_;
};

}  // namespace cohort::distribute
