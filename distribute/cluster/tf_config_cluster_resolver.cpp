#include "cohort/distribute/cluster/tf_config_cluster_resolver.h"

#include <utility>

#include "cohort/core/error.h"
#include "cohort/core/text.h"
#include "cohort/distribute/cluster/environment.h"
#include "cohort/distribute/cluster/roles.h"
#include "cohort/distribute/cluster/tf_config.h"
#include "cohort/files/atomic_file.h"

namespace cohort::distribute {
namespace {

constexpr const char* kVariable = "TF_CONFIG";
constexpr const char* kFileVariable = "TF_CONFIG_FILE";

TFConfig read_config_file(const std::string& path, const char* named_by) {
  const std::string who = titled(named_by, path);
  try {
    return parse_tf_config(read_file(path), who);
  } catch (const Error& error) {
    const std::string text = error.what();
    throw text.starts_with(who) ? error : Error(error.code(), who + ": " + text);
  }
}

// What the first leaves out as the second says it. A type and an index belong together.
TFConfig filled_from(TFConfig first, const TFConfig& second) {
  if (first.cluster.empty()) first.cluster = second.cluster;
  if (first.task_type.empty() && !first.task_id) {
    first.task_type = second.task_type;
    first.task_id = second.task_id;
  }
  if (first.rpc_layer.empty()) first.rpc_layer = second.rpc_layer;
  if (first.environment.empty()) first.environment = second.environment;
  if (first.session_master.empty()) first.session_master = second.session_master;
  return first;
}

}  // namespace

TFConfigClusterResolver::TFConfigClusterResolver(TFConfigClusterResolverOptions options)
    : options_(std::move(options)) {}

TFConfig TFConfigClusterResolver::read() const {
  TFConfig config = parse_tf_config(environment_variable(kVariable), kVariable);
  if (options_.path) {
    config = filled_from(read_config_file(*options_.path, "TFConfigClusterResolver"), config);
  } else if (const std::string path = environment_variable(kFileVariable); !path.empty()) {
    config = filled_from(std::move(config), read_config_file(path, kFileVariable));
  }
  if (options_.task_type) config.task_type = *options_.task_type;
  if (options_.task_id) config.task_id = options_.task_id;
  if (options_.rpc_layer) config.rpc_layer = *options_.rpc_layer;
  if (options_.environment) config.environment = *options_.environment;

  if (!config.task_id) {
    // Only where there is a single task it goes without saying which.
    if (config.cluster.has_job(config.task_type) && config.cluster.num_tasks(config.task_type) > 1) {
      throw invalid_argument(kVariable, "\"task\" must say which of the job's tasks this is",
                             {{"type", config.task_type}, {"cluster", config.cluster}}, "Add \"index\" to \"task\".");
    }
    config.task_id = 0;
  }
  check_task(config.cluster, config.task_type, *config.task_id, kVariable);
  return config;
}

ClusterSpec TFConfigClusterResolver::cluster_spec() const { return read().cluster; }
std::string TFConfigClusterResolver::task_type() const { return read().task_type; }
std::int64_t TFConfigClusterResolver::task_id() const { return *read().task_id; }
std::string TFConfigClusterResolver::environment() const { return read().environment; }

std::string TFConfigClusterResolver::rpc_layer() const {
  const std::string layer = read().rpc_layer;
  return layer.empty() ? ClusterResolver::rpc_layer() : layer;
}

std::string TFConfigClusterResolver::master(std::string task_type, std::int64_t task_id) const {
  if (const std::string session_master = read().session_master; task_type.empty() && !session_master.empty())
    return session_master;
  return ClusterResolver::master(std::move(task_type), task_id);
}

}  // namespace cohort::distribute
