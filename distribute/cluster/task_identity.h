#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace cohort::distribute {

// Who a task of a cluster is, as its certificate says: "cohort://training/worker/1" among the alternative names.
struct TaskIdentity {
  std::string cluster;
  std::string job;
  std::int64_t index = 0;

  // As a certificate has it.
  std::string uri() const;
  friend bool operator==(const TaskIdentity&, const TaskIdentity&) = default;
};

// None where the text is no such name.
std::optional<TaskIdentity> parse_identity(std::string_view uri);
// Of "worker:1" in this cluster; none where it is no task's name.
std::optional<TaskIdentity> identity_of_task(std::string_view cluster, std::string_view task);

}  // namespace cohort::distribute
