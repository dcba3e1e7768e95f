#pragma once

#include <map>
#include <string>
#include <utility>

#include "cohort/distribute/cluster/cluster_spec.h"
#include "cohort/distribute/protocol/messages.pb.h"

namespace cohort::distribute {

// A cluster as part of a message that has a field for it.
template <class Metadata>
void write_cluster(const ClusterSpec& spec, Metadata& to) {
  for (const std::string& job : spec.jobs()) {
    proto::JobProto& entry = *to.add_cluster();
    entry.set_name(job);
    for (const std::int64_t index : spec.task_indices(job)) {
      proto::TaskProto& task = *entry.add_tasks();
      task.set_index(index);
      task.set_address(spec.task_address(job, index));
    }
  }
}

// Throws InvalidArgument for one that cannot be.
template <class Metadata>
ClusterSpec read_cluster(const Metadata& from) {
  std::map<std::string, ClusterSpec::Tasks> jobs;
  for (const proto::JobProto& job : from.cluster()) {
    for (const proto::TaskProto& task : job.tasks()) jobs[job.name()][task.index()] = task.address();
  }
  return ClusterSpec(std::move(jobs));
}

}  // namespace cohort::distribute
