#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cohort::distribute {

// What a list of pods says about one of them.
struct Pod {
  std::string name;
  // Empty until it has one.
  std::string ip;
  // "hostname.subdomain", by which it is found in its namespace; empty: none.
  std::string host_name;
  // The StatefulSet that it belongs to; empty: none.
  std::string stateful_set;
  // Its containers' ports by their names.
  std::map<std::string, int> ports;
  // It runs and has an IP.
  bool ready = false;
  // It has ended, or is being deleted: it will not be a task.
  bool gone = false;
  // For people: "Pending (ImagePullBackOff)".
  std::string state;

  // The number at the end of its name: 12 of "worker-12".
  std::optional<std::int64_t> ordinal() const;
};

// One page of a list.
struct PodPage {
  std::vector<Pod> pods;
  // Asks for the next page; empty: this is the last.
  std::string next;
};

// Reads the answer to a request for pods. Throws DataLoss in the name of `who` when it is none.
PodPage parse_pod_page(std::string_view json, std::string_view who);

// By name, numbers at the end as numbers.
bool pod_precedes(const Pod& a, const Pod& b);

// The pods of one job as tasks.
struct PodTasks {
  std::map<std::int64_t, Pod> tasks;
  // Who is not ready, with the reason; empty: all are there.
  std::vector<std::string> awaited;
};

// Numbers the pods of a job.
//   job: its name.
//   pods: in the order of their tasks.
//   expected: how many tasks there must be; none: as many as there are pods, one at least.
PodTasks number_pods(const std::string& job, const std::vector<Pod>& pods, const std::optional<std::int64_t>& expected);

}  // namespace cohort::distribute
