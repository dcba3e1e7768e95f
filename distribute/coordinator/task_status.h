#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "cohort/distribute/cluster/cluster_spec.h"

namespace cohort::distribute {

// How a task of a cluster is doing; the counts are those of one job.
struct TaskStatus {
  // "worker:1".
  std::string task = {};
  // "host:port".
  std::string address = {};
  // Why there is no more than that; empty: it has answered.
  std::string problem = {};
  // The cluster it believes to be part of.
  ClusterSpec cluster = {};
  // Of the first ps: workers that have joined the cluster, by their numbers, and where they are.
  ClusterSpec::Tasks members = {};
  // What its chief calls the job, of several the one that has come last; empty: it has had none, or they have ended.
  std::string job = {};
  // Its chief has a way to it.
  bool led = false;
  // Seconds since the task began.
  double uptime = 0.0;
  // The closure that runs; 0: none.
  std::uint64_t running = 0;
  // Steps begun.
  std::uint64_t steps = 0;
  // Seconds that a step has taken of late, on a ps the application of a bundle; 0: none so far.
  double step_seconds = 0.0;
  // Requests that came.
  std::uint64_t requests = 0;
  // Those of them that it has not answered yet.
  std::uint64_t in_hand = 0;
  // Of messages that came, tensors and what describes them.
  std::uint64_t bytes_received = 0;
  // Likewise, of those it has sent.
  std::uint64_t bytes_sent = 0;
  // Bundles that a worker has sent, or a ps has applied.
  std::uint64_t bundles = 0;
  // Updates by others between the weights that a worker computed with and its own update: the mean.
  double staleness = 0.0;
  // And the most.
  std::uint64_t most_stale = 0;
  // Requests to a ps that it had to send again.
  std::uint64_t retries = 0;
  // How often its chief had lost it and found it again.
  std::uint64_t recoveries = 0;
  // Of the variables on a ps.
  std::uint64_t variable_bytes = 0;
  // By how much its clock is ahead of this process's; wrong by at most half of the round trip.
  std::chrono::nanoseconds clock_offset{0};
  // From the question to the answer.
  std::chrono::nanoseconds round_trip{0};
  // The same for each job that it takes part in, in the order they came: their counts.
  std::vector<TaskStatus> jobs = {};
};

}  // namespace cohort::distribute
