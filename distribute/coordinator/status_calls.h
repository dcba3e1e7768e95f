#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include "cohort/distribute/coordinator/bounded_calls.h"
#include "cohort/distribute/coordinator/task_status.h"

namespace cohort::distribute {

// Asks a task how it is doing, for the chief of `job` (0: for nobody's); the peer's name may be empty, for any. Throws
// DataLoss for an answer that cannot be.
TaskStatus ask_status(rpc::Stream& stream, const rpc::Peer& peer, std::uint64_t job = 0);

// Asks tasks how they are doing, whoever leads them and whatever they do; they do not notice. Used by one thread at a
// time.
class StatusCalls {
 public:
  // A peer without a task's name may be any task. Of several jobs on a task `job` is the one whose counts are wanted;
  // 0: the one that has come last.
  StatusCalls(std::vector<rpc::Peer> tasks, rpc::TransportOptions options, std::uint64_t job = 0);
  // All of them at once; whoever has not answered by then has a problem.
  std::vector<TaskStatus> ask(std::chrono::milliseconds longest);

 private:
  BoundedCalls calls_;
  const std::uint64_t job_;
};

}  // namespace cohort::distribute
