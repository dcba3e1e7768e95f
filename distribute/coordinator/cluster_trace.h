#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "cohort/distribute/coordinator/bounded_calls.h"
#include "cohort/distribute/protocol/trace_log.h"

namespace cohort::distribute {

// Lets the chief and all tasks of its job note what they do when, and brings it together. Thread-safe; of two who
// record at a time the later one begins anew, and the first to end gets it.
class ClusterTrace {
 public:
  // `log` is the chief's own.
  ClusterTrace(std::vector<rpc::Peer> tasks, rpc::TransportOptions options, std::uint64_t job, TraceLog& log);
  // Of others from now on.
  void set_tasks(std::vector<rpc::Peer> tasks);
  // Waits a second for a task that does not answer; what it does is not recorded then.
  void begin();
  // The tracks of the chief's threads, which name no process, and of the tasks, all by the chief's clock. Of a task
  // that does not answer within some seconds there are none, which the log says.
  std::vector<TimelineTrack> end();

 private:
  const rpc::TransportOptions options_;
  const std::uint64_t job_;
  TraceLog& log_;
  std::mutex mutex_;  // guards what follows
  std::unique_ptr<BoundedCalls> calls_;
  Timeline::Clock::time_point begin_;
};

}  // namespace cohort::distribute
