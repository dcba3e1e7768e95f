#include "cohort/distribute/cluster/tf_config_cluster_resolver.h"

#include <cstdlib>
#include <utility>

#include "cohort/core/error.h"
#include "cohort/distribute/cluster/roles.h"
#include "cohort/distribute/cluster/tf_config.h"

namespace cohort::distribute {
namespace {

constexpr const char* kVariable = "TF_CONFIG";

}  // namespace

TFConfigClusterResolver::TFConfigClusterResolver(TFConfigClusterResolverOptions options)
    : options_(std::move(options)) {}

TFConfig TFConfigClusterResolver::read() const {
  const char* text = std::getenv(kVariable);
  TFConfig config = parse_tf_config(text ? text : "", kVariable);
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
