#include "cohort/distribute/cluster_status.h"

#include <algorithm>
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

// Workers that have joined and are not asked yet, or were asked where they are not.
std::vector<rpc::Peer> joined_peers(const std::vector<TaskStatus>& tasks) {
  std::vector<rpc::Peer> peers;
  for (const auto& [index, address] : tasks.front().members) {
    const std::string task = task_name(kWorker, index);
    const bool known = std::any_of(tasks.begin(), tasks.end(), [&](const TaskStatus& other) {
      return other.task == task && (other.address == address || other.problem.empty());
    });
    if (!known) peers.push_back({task, address});
  }
  return peers;
}

}  // namespace

std::vector<TaskStatus> cluster_status(const ClusterSpec& cluster, const ClusterStatusOptions& options) {
  std::vector<rpc::Peer> peers;
  for (const ClusterTask& task : serving_tasks(cluster)) peers.push_back({task.name(), task.address});
  if (peers.empty()) {
    throw invalid_argument("cluster_status", "a cluster with workers or parameter servers is expected",
                           {{"cluster", cluster}});
  }
  std::vector<TaskStatus> tasks = ask_peers(std::move(peers), options);
  const std::vector<rpc::Peer> joined = joined_peers(tasks);
  if (joined.empty()) return tasks;
  for (TaskStatus& task : ask_peers(joined, options)) {
    const auto listed =
        std::find_if(tasks.begin(), tasks.end(), [&](const auto& one) { return one.task == task.task; });
    if (listed != tasks.end()) {
      *listed = std::move(task);
    } else {
      tasks.push_back(std::move(task));
    }
  }
  return tasks;
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
