#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cohort/distribute/cluster/cluster_resolver.h"

namespace cohort::distribute {

struct TFConfig;

// What to say in place of what TF_CONFIG says.
struct TFConfigClusterResolverOptions {
  // The job of this process's task; none: TF_CONFIG's.
  std::optional<std::string> task_type = std::nullopt;
  // The number of this process's task; none: TF_CONFIG's.
  std::optional<std::int64_t> task_id = std::nullopt;
  // The protocol in front of addresses; none: TF_CONFIG's.
  std::optional<std::string> rpc_layer = std::nullopt;
  // Where the cluster runs; none: TF_CONFIG's.
  std::optional<std::string> environment = std::nullopt;
  // A file that says what TF_CONFIG would: what it says wins over TF_CONFIG; none: TF_CONFIG_FILE may name one.
  std::optional<std::string> path = std::nullopt;
};

// Reads the environment variable TF_CONFIG, again at every call: {"cluster": {job: [address]}, "task": {"type",
// "index"}}. What it leaves out is taken from the file that TF_CONFIG_FILE names, so that one file may describe the
// cluster to all its tasks. Options win over both. Without either there is an empty cluster.
class TFConfigClusterResolver : public ClusterResolver {
 public:
  // Reads nothing yet.
  explicit TFConfigClusterResolver(TFConfigClusterResolverOptions options = {});
  ClusterSpec cluster_spec() const override;
  std::string task_type() const override;
  std::int64_t task_id() const override;
  std::string master(std::string task_type = {}, std::int64_t task_id = -1) const override;
  std::string rpc_layer() const override;
  std::string environment() const override;

 private:
  // The variable and the options as one, checked as a whole: whichever question is asked first meets the mistake.
  TFConfig read() const;

  TFConfigClusterResolverOptions options_;
};

}  // namespace cohort::distribute
