#pragma once

#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cohort::distribute {

// Which tasks a cluster has: job name -> task index -> "host:port". Indices may have holes. Whatever its jobs are
// called (anything without spaces, '/' and ':'), every address is well formed and belongs to one task (port 0, "any
// free one", may be said often). Hosts are names, IPv4 addresses, or IPv6 addresses in brackets ("[fd00::1]:4242").
class ClusterSpec {
 public:
  // A job's tasks: number -> "host:port".
  using Tasks = std::map<std::int64_t, std::string>;

  // An empty cluster.
  ClusterSpec() = default;
  // Jobs by name with the addresses of their tasks: {{"worker", {"h:1", "h:2"}}, {"ps", {"h:3"}}}. Taken as a list too,
  // because a braced list that fits several kinds of map is ambiguous.
  ClusterSpec(std::initializer_list<std::pair<std::string, std::vector<std::string>>> jobs);
  ClusterSpec(std::map<std::string, std::vector<std::string>> jobs);
  // Jobs with numbered tasks, which may have holes.
  explicit ClusterSpec(std::map<std::string, Tasks> jobs);

  // True without any job.
  bool empty() const { return jobs_.empty(); }
  // Names of the jobs.
  std::vector<std::string> jobs() const;
  // Whether there is a job of this name.
  bool has_job(std::string_view job) const;
  // Whether the job has a task of this number.
  bool has_task(std::string_view job, std::int64_t index) const;
  // Number of tasks of all jobs.
  std::int64_t num_tasks() const;
  // Number of tasks of a job; this and the next two throw NotFound for a job or an index that is not there.
  std::int64_t num_tasks(std::string_view job) const;
  // The numbers of a job's tasks.
  std::vector<std::int64_t> task_indices(std::string_view job) const;
  // "host:port" of a task.
  const std::string& task_address(std::string_view job, std::int64_t index) const;
  // As JSON, TF_CONFIG's "cluster": {"ps":["h:1"],"worker":["h:2","h:3"]}, a job with holes as {"0":"h:2","2":"h:3"}.
  std::string as_text() const;
  friend bool operator==(const ClusterSpec&, const ClusterSpec&) = default;

 private:
  const Tasks& tasks_of(std::string_view job) const;

  std::map<std::string, Tasks> jobs_;
};

std::ostream& operator<<(std::ostream& out, const ClusterSpec& spec);

// "worker:1", as errors, logs and launched programs call a task.
std::string task_name(std::string_view job, std::int64_t index);

}  // namespace cohort::distribute
