#include "cohort/distribute/cluster/roles.h"

#include "cohort/core/error.h"
#include "cohort/core/text.h"
#include "cohort/distribute/cluster/address.h"

namespace cohort::distribute {
namespace {

std::int64_t count(const ClusterSpec& spec, std::string_view job) {
  return spec.has_job(job) ? spec.num_tasks(job) : 0;
}

}  // namespace

void check_roles(const ClusterSpec& spec, std::string_view who) {
  for (const std::string& job : spec.jobs()) {
    if (job != kChief && job != kWorker && job != kPs && job != kEvaluator) {
      throw invalid_argument(who, "jobs must be called chief, worker, ps or evaluator",
                             {{"job", in_quotes(job)}, {"cluster", spec}});
    }
  }
  for (const std::string_view job : {kChief, kEvaluator}) {
    if (count(spec, job) > 1) {
      throw invalid_argument(who, "a cluster has at most one " + std::string(job), {{"cluster", spec}});
    }
  }
}

void check_task(const ClusterSpec& spec, std::string_view task_type, std::int64_t task_id, std::string_view who) {
  if (spec.empty() || task_type.empty() || spec.has_task(task_type, task_id)) return;
  if (task_type == kEvaluator && !spec.has_job(kEvaluator) && task_id == 0) return;
  const std::string_view fix = spec.has_job(task_type) ? "Indices count from 0." : "Add the task to the cluster.";
  throw invalid_argument(who, "the task must be one of the cluster",
                         {{"task", task_name(task_type, task_id)}, {"cluster", spec}}, fix);
}

void check_parameter_server_cluster(const ClusterSpec& spec, std::string_view who, std::int64_t workers) {
  check_roles(spec, who);
  for (const std::string_view job : {kPs, kWorker}) {
    if (count(spec, job) < (job == kPs ? 1 : workers)) {
      throw invalid_argument(who, "the cluster must have at least one " + std::string(job), {{"cluster", spec}},
                             "Add its address to the cluster spec (TF_CONFIG), or start it with `cohort launch`.");
    }
  }
  for (const ClusterTask& task : serving_tasks(spec)) {
    if (parse_address(task.address, who).port == 0) {
      throw invalid_argument(who, "a task that others call must have a port of its own",
                             {{"task", task.name()}, {"address", task.address}},
                             "Start its server first and use the port it chose (Server::target()).");
    }
  }
}

bool is_chief(const ClusterSpec& spec, std::string_view task_type, std::int64_t task_id) {
  if (task_type.empty() || task_type == kChief || task_type == kEvaluator) return true;
  return task_type == kWorker && count(spec, kChief) == 0 && count(spec, kWorker) > 0 &&
         spec.task_indices(kWorker).front() == task_id;
}

std::vector<ClusterTask> serving_tasks(const ClusterSpec& spec) {
  std::vector<ClusterTask> tasks;
  for (const std::string_view job : {kPs, kWorker}) {
    if (!spec.has_job(job)) continue;
    for (const std::int64_t index : spec.task_indices(job))
      tasks.push_back({std::string(job), index, spec.task_address(job, index)});
  }
  return tasks;
}

}  // namespace cohort::distribute
