#include "cohort/distribute/cluster/cluster_spec.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <ostream>

#include "cohort/core/error.h"
#include "cohort/core/text.h"
#include "cohort/distribute/cluster/address.h"

namespace cohort::distribute {
namespace {

constexpr const char* kClusterSpec = "ClusterSpec";

// What would end the name in "/job:NAME/task:1" and in "NAME:1".
bool has_separators(const std::string& job) {
  return std::any_of(job.begin(), job.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte <= ' ' || byte == 127 || c == '/' || c == ':';
  });
}

std::map<std::string, std::vector<std::string>> keyed(
    std::initializer_list<std::pair<std::string, std::vector<std::string>>> jobs) {
  std::map<std::string, std::vector<std::string>> result;
  for (const auto& [job, addresses] : jobs) {
    if (!result.emplace(job, addresses).second)
      throw invalid_argument(kClusterSpec, "a job must be listed once", {{"job", job}},
                             "Join its addresses into one list.");
  }
  return result;
}

std::map<std::string, ClusterSpec::Tasks> numbered(std::map<std::string, std::vector<std::string>> jobs) {
  std::map<std::string, ClusterSpec::Tasks> result;
  for (auto& [job, addresses] : jobs) {
    ClusterSpec::Tasks& tasks = result[job];
    for (std::size_t i = 0; i < addresses.size(); ++i)
      tasks.emplace(static_cast<std::int64_t>(i), std::move(addresses[i]));
  }
  return result;
}

}  // namespace

ClusterSpec::ClusterSpec(std::initializer_list<std::pair<std::string, std::vector<std::string>>> jobs)
    : ClusterSpec(keyed(jobs)) {}

ClusterSpec::ClusterSpec(std::map<std::string, std::vector<std::string>> jobs)
    : ClusterSpec(numbered(std::move(jobs))) {}

ClusterSpec::ClusterSpec(std::map<std::string, Tasks> jobs) : jobs_(std::move(jobs)) {
  std::map<std::string, std::string> owners;  // address -> task
  for (const auto& [job, tasks] : jobs_) {
    if (job.empty()) throw invalid_argument(kClusterSpec, "every job must have a name", {{"cluster", *this}});
    if (has_separators(job))
      throw invalid_argument(kClusterSpec, "a job's name must have no spaces, '/' or ':'", {{"job", in_quotes(job)}});
    for (const auto& [index, text] : tasks) {
      const std::string task = task_name(job, index);
      if (index < 0) throw invalid_argument(kClusterSpec, "a task's index must be 0 or more", {{"task", task}});
      const Address address = parse_address(text, titled(kClusterSpec, task));
      if (address.port == 0) continue;
      const auto [owner, fresh] = owners.emplace(address.normalized(), task);
      if (!fresh) {
        throw invalid_argument(kClusterSpec, "every task must have an address of its own",
                               {{"address", text}, {"tasks", owner->second + ", " + task}},
                               "Give one of the two another port.");
      }
    }
  }
}

std::vector<std::string> ClusterSpec::jobs() const {
  std::vector<std::string> names;
  for (const auto& entry : jobs_) names.push_back(entry.first);
  return names;
}

bool ClusterSpec::has_job(std::string_view job) const { return jobs_.contains(std::string(job)); }

bool ClusterSpec::has_task(std::string_view job, std::int64_t index) const {
  const auto found = jobs_.find(std::string(job));
  return found != jobs_.end() && found->second.contains(index);
}

std::int64_t ClusterSpec::num_tasks(std::string_view job) const {
  return static_cast<std::int64_t>(tasks_of(job).size());
}

std::int64_t ClusterSpec::num_tasks() const {
  std::int64_t count = 0;
  for (const auto& entry : jobs_) count += static_cast<std::int64_t>(entry.second.size());
  return count;
}

std::vector<std::int64_t> ClusterSpec::task_indices(std::string_view job) const {
  std::vector<std::int64_t> indices;
  for (const auto& entry : tasks_of(job)) indices.push_back(entry.first);
  return indices;
}

const std::string& ClusterSpec::task_address(std::string_view job, std::int64_t index) const {
  const Tasks& tasks = tasks_of(job);
  const auto found = tasks.find(index);
  if (found == tasks.end()) {
    throw not_found(kClusterSpec, "the task must be one of the cluster",
                    {{"task", task_name(job, index)}, {"cluster", *this}}, "Indices count from 0.");
  }
  return found->second;
}

std::string ClusterSpec::as_text() const {
  nlohmann::json cluster = nlohmann::json::object();
  for (const auto& [job, tasks] : jobs_) {
    const bool dense = tasks.empty() || tasks.rbegin()->first == static_cast<std::int64_t>(tasks.size()) - 1;
    nlohmann::json& entry = cluster[job] = dense ? nlohmann::json::array() : nlohmann::json::object();
    for (const auto& [index, address] : tasks) {
      if (dense) {
        entry.push_back(address);
      } else {
        entry[std::to_string(index)] = address;
      }
    }
  }
  // Text that is not UTF-8 can only be on its way into an error, which must come out.
  return cluster.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

const ClusterSpec::Tasks& ClusterSpec::tasks_of(std::string_view job) const {
  const auto found = jobs_.find(std::string(job));
  if (found == jobs_.end())
    throw not_found(kClusterSpec, "the job must be one of the cluster",
                    {{"job", job}, {"jobs", "[" + join(jobs()) + "]"}});
  return found->second;
}

std::ostream& operator<<(std::ostream& out, const ClusterSpec& spec) { return out << spec.as_text(); }

std::string task_name(std::string_view job, std::int64_t index) {
  return std::string(job) + ":" + std::to_string(index);
}

}  // namespace cohort::distribute
