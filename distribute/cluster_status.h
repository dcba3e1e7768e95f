#pragma once

#include <string>
#include <vector>

#include "cohort/distribute/cluster/cluster_spec.h"
#include "cohort/distribute/cluster/security_options.h"
#include "cohort/distribute/coordinator/task_status.h"

namespace cohort::distribute {

// How tasks are asked.
struct ClusterStatusOptions {
  // Seconds after which a task that has not answered is left out.
  double timeout = 2.0;
  // How this process proves who it is to tasks beyond this machine.
  SecurityOptions security = {};
};

// Asks all workers and ps of a cluster how they are doing, from any process, and workers that have joined it: those
// that do not answer have a `problem`. Neither they nor the chief notice.
std::vector<TaskStatus> cluster_status(const ClusterSpec& cluster, const ClusterStatusOptions& options = {});

// The same of the cluster that the task at "host:port" is part of. Throws Unavailable when that one does not answer.
std::vector<TaskStatus> cluster_status_at(const std::string& address, const ClusterStatusOptions& options = {});

}  // namespace cohort::distribute
