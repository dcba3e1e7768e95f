#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cohort/distribute/cluster/cluster_spec.h"

namespace cohort::distribute {

inline constexpr std::string_view kChief = "chief", kWorker = "worker", kPs = "ps", kEvaluator = "evaluator";

// One task with its place.
struct ClusterTask {
  std::string job;
  std::int64_t index = 0;
  std::string address;

  std::string name() const { return task_name(job, index); }
};

// Whether the cluster can train at all: jobs are chief, worker, ps and evaluator, the first and the last at most once.
// Throws InvalidArgument in the name of `who`, as the following do.
void check_roles(const ClusterSpec& spec, std::string_view who);

// Whether this process may call itself so: the task exists. An evaluator need not be in the spec; with an empty spec or
// an empty type there is nothing to check.
void check_task(const ClusterSpec& spec, std::string_view task_type, std::int64_t task_id, std::string_view who);

// Whether the cluster can train with parameter servers: roles are right, there is a ps and at least so many workers,
// and each can be reached (no port 0).
void check_parameter_server_cluster(const ClusterSpec& spec, std::string_view who = "ParameterServerStrategy",
                                    std::int64_t workers = 1);

// The task that leads: the chief, or the first worker where there is none. An evaluator leads itself, and so does a
// process without a cluster (an empty type).
bool is_chief(const ClusterSpec& spec, std::string_view task_type, std::int64_t task_id);

// The tasks a chief talks to, ps before workers; never the evaluator, which only watches checkpoints.
std::vector<ClusterTask> serving_tasks(const ClusterSpec& spec);

}  // namespace cohort::distribute
