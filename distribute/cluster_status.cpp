#include "cohort/distribute/cluster_status.h"

#include <chrono>
#include <utility>

#include "cohort/core/error.h"
#include "cohort/distribute/cluster/roles.h"
#include "cohort/distribute/cluster/security.h"
#include "cohort/distribute/coordinator/status_calls.h"

namespace cohort::distribute {
namespace {

std::vector<TaskStatus> ask_peers(std::vector<rpc::Peer> peers, const ClusterStatusOptions& options) {
  if (!(options.timeout >= 0.001 && options.timeout <= 1e6)) {
    throw invalid_argument("cluster_status", "a timeout above 0, and of at most 1e6 seconds, is expected",
                           {{"timeout", options.timeout}});
  }
  const std::chrono::milliseconds longest(static_cast<std::int64_t>(options.timeout * 1000.0));
  const auto security = make_security(options.security, "cluster_status");
  return StatusCalls(std::move(peers), {.connect_timeout = longest, .security = security}).ask(longest);
}

}  // namespace

std::vector<TaskStatus> cluster_status(const ClusterSpec& cluster, const ClusterStatusOptions& options) {
  std::vector<rpc::Peer> peers;
  for (const ClusterTask& task : serving_tasks(cluster)) peers.push_back({task.name(), task.address});
  if (peers.empty()) {
    throw invalid_argument("cluster_status", "a cluster with workers or parameter servers is expected",
                           {{"cluster", cluster}});
  }
  return ask_peers(std::move(peers), options);
}

std::vector<TaskStatus> cluster_status_at(const std::string& address, const ClusterStatusOptions& options) {
  const TaskStatus first = ask_peers({{"", address}}, options).front();
  if (!first.problem.empty()) {
    throw Error(ErrorCode::Unavailable, "cluster_status", "a task of a cluster is expected",
                {{"address", address}, {"reason", first.problem}}, "Give the address of a worker or ps that runs.");
  }
  return cluster_status(first.cluster, options);
}

}  // namespace cohort::distribute
