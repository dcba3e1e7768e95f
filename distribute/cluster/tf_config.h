#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "cohort/distribute/cluster/cluster_spec.h"

namespace cohort::distribute {

// What a TF_CONFIG says:
// {"cluster": {job: [address]}, "task": {"type", "index"}, "rpc_layer", "environment", "session_master"}.
struct TFConfig {
  ClusterSpec cluster = {};
  std::string task_type = {};  // empty: not said
  std::optional<std::int64_t> task_id = std::nullopt;
  std::string rpc_layer = {};
  std::string environment = {};
  std::string session_master = {};
};

// Every part may be missing; an empty text says nothing. Throws InvalidArgument naming `who` and what is wrong.
TFConfig parse_tf_config(std::string_view text, std::string_view who = "TF_CONFIG");

// What ClusterSpec::as_text writes: {job: [address]}, or {job: {index: address}}. Throws likewise.
ClusterSpec parse_cluster_spec(std::string_view text, std::string_view who);

// The text that tells a process which task of the cluster it is.
std::string to_tf_config(const ClusterSpec& spec, std::string_view task_type, std::int64_t task_id);

}  // namespace cohort::distribute
