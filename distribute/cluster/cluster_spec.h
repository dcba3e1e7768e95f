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
// called, every address is well formed and belongs to one task (port 0, "any free one", may be said often).
class ClusterSpec {
 public:
  using Tasks = std::map<std::int64_t, std::string>;

  ClusterSpec() = default;
  // Taken as a list too, because a braced list that fits several kinds of map is ambiguous.
  ClusterSpec(std::initializer_list<std::pair<std::string, std::vector<std::string>>> jobs);
  ClusterSpec(std::map<std::string, std::vector<std::string>> jobs);
  explicit ClusterSpec(std::map<std::string, Tasks> jobs);

  bool empty() const { return jobs_.empty(); }
  std::vector<std::string> jobs() const;
  bool has_job(std::string_view job) const;
  bool has_task(std::string_view job, std::int64_t index) const;
  // Of all jobs.
  std::int64_t num_tasks() const;
  // These three throw NotFound for a job or an index that is not there.
  std::int64_t num_tasks(std::string_view job) const;
  std::vector<std::int64_t> task_indices(std::string_view job) const;
  const std::string& task_address(std::string_view job, std::int64_t index) const;
  // TF_CONFIG's "cluster": {"ps":["h:1"],"worker":["h:2","h:3"]}, a job with holes as {"0":"h:2","2":"h:3"}.
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
