#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "cohort/core/device_spec.h"
#include "cohort/distribute/cluster/cluster_spec.h"
#include "cohort/graph/graph.h"

namespace cohort::distribute {

// What a task computes on.
struct TaskDevices {
  std::vector<std::string> names;  // "CPU:0"
  std::string by_default;
};

// A device of a task of the cluster.
struct SessionPlace {
  std::string job;
  std::int64_t index = 0;
  std::string device;  // "CPU:0"

  std::string task() const { return task_name(job, index); }
  // "/job:ps/replica:0/task:0/device:CPU:0"
  std::string name() const;
  friend bool operator==(const SessionPlace&, const SessionPlace&) = default;
};

// Finds the devices that the nodes of one session's graph run on. A job that is left open is the master's, a task that
// is left open is 0 (of the master's job: the master), a device that is left open is the task's default one. Not
// thread-safe.
class SessionPlacer {
 public:
  // Of "ps:0".
  using DevicesOf = std::function<const TaskDevices&(const std::string& task)>;
  // `soft`: a device that a task does not have is its CPU.
  SessionPlacer(const ClusterSpec& cluster, std::string master_job, std::int64_t master_index, bool soft,
                DevicesOf devices_of);

  // The number of the place for what asks for this device. Throws with the name of `who` where there is none.
  int place(const DeviceSpec& asked, const std::string& who);
  // The places of a graph's nodes: what uses a variable is where that is, constants that nobody has put anywhere and
  // inputs are nowhere.
  //   variables: of each input the number of its variable's place; -1 for others.
  std::vector<int> place_nodes(const Graph& graph, std::span<const int> variables);
  // All places so far; the first is the master's own.
  const std::vector<SessionPlace>& places() const { return places_; }

 private:
  std::string device_of(const std::string& job, std::int64_t index, const DeviceSpec& asked, const std::string& who);
  int number_of(SessionPlace place);

  const ClusterSpec& cluster_;
  const std::string master_job_;
  const std::int64_t master_index_;
  const bool soft_;
  const DevicesOf devices_of_;
  std::vector<SessionPlace> places_;
};

}  // namespace cohort::distribute
