#pragma once

#include <cstdint>
#include <string>

#include "cohort/distribute/cluster/cluster_spec.h"

namespace cohort::distribute {

// Finds out who is in the cluster and which of its tasks this process is.
class ClusterResolver {
 public:
  virtual ~ClusterResolver() = default;
  // Who is in the cluster.
  virtual ClusterSpec cluster_spec() const = 0;
  // The job of this process's task: "chief", "worker", "ps", "evaluator"; empty when unknown.
  virtual std::string task_type() const = 0;
  // The number of this process's task within its job.
  virtual std::int64_t task_id() const = 0;
  // "grpc://host:port" of the given task, by default this process's own; empty for a cluster of one, or when unknown.
  virtual std::string master(std::string task_type = {}, std::int64_t task_id = -1) const;
  // The protocol in front of addresses.
  virtual std::string rpc_layer() const { return "grpc"; }
  // Where the cluster runs, in TF_CONFIG's words ("cloud"); empty when unknown.
  virtual std::string environment() const { return {}; }
};

}  // namespace cohort::distribute
