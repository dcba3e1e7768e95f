#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace cohort::distribute {

// Which tasks a cluster has: job name -> task index -> "host:port". Indices may have holes.
class ClusterSpec {
 public:
  using Tasks = std::map<std::int64_t, std::string>;

  ClusterSpec() = default;
  ClusterSpec(std::map<std::string, std::vector<std::string>> jobs);
  explicit ClusterSpec(std::map<std::string, Tasks> jobs);

  bool empty() const { return jobs_.empty(); }
  std::vector<std::string> jobs() const;
  std::int64_t num_tasks(std::string_view job) const;
  std::vector<std::int64_t> task_indices(std::string_view job) const;
  // Throws NotFound for a job or an index that is not there.
  const std::string& task_address(std::string_view job, std::int64_t index) const;
  friend bool operator==(const ClusterSpec&, const ClusterSpec&) = default;

 private:
  std::map<std::string, Tasks> jobs_;
};

}  // namespace cohort::distribute
