#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cohort/distribute/cluster/cluster_resolver.h"

namespace cohort::distribute {

struct TFConfig;

struct TFConfigClusterResolverOptions {
  std::optional<std::string> task_type = std::nullopt;
  std::optional<std::int64_t> task_id = std::nullopt;
  std::optional<std::string> rpc_layer = std::nullopt;
  std::optional<std::string> environment = std::nullopt;
};

// Reads the environment variable TF_CONFIG, anew at every question: {"cluster": {job: [address]}, "task": {"type",
// "index"}}. Options win over what it says. Without TF_CONFIG there is an empty cluster.
class TFConfigClusterResolver : public ClusterResolver {
 public:
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
